var Cn={float64:Float64Array,float32:Float32Array,int32:Int32Array,uint32:Uint32Array,uint16:Uint16Array,uint8:Uint8Array};function Se(s){return JSON.parse(document.getElementById(s).textContent)}async function Vt(s,t){
let e=atob(document.getElementById(s).textContent),n=new Uint8Array(e.length);for(let a=0;a<e.length;a++)n[a]=e.charCodeAt(a);let r=new Blob([n]).stream().pipeThrough(new DecompressionStream("deflate")),
i=await new Response(r).arrayBuffer(),o={};for(let[a,[l,c,h]]of Object.entries(t))o[a]=new Cn[l](i,c,h);return o}var x=s=>document.getElementById(s),L=s=>x(s),B=s=>x(s);function v(s,t,e){let n=document.createElement(s);return t!==void 0&&(n.textContent=t),e&&(n.className=e),n}var Nn="⁰¹²³⁴⁵⁶⁷⁸⁹";function $n(s){let t=[...String(Math.abs(s))].map(e=>Nn[Number(e)]).join("");return`10${s<0?"⁻":""}${t}`}function O(s,t=5,e=0){if(Number.isNaN(s))return"not a nu\
mber";if(Math.abs(s)===1/0)return"unbounded";if(Math.abs(s)<=1e-12*e||s===0)return"0";let n=Math.floor(Math.log10(Math.abs(s)));if(n>=7||n<-4){let[r,i]=s.toExponential(t-1).split("e"),o=String(Number(
r)).replace("-","−");return`${o==="1"?"":o==="−1"?"−":`${o}·`}${$n(Number(i))}`}return s.toLocaleString("en",{maximumSignificantDigits:t}).replace("-","−")}function at(s,t){let e=Math.max(0,Math.
min(12,Math.ceil(-Math.log10(t)))),n=Number(s.toFixed(e));return(n===0?"0":n.toFixed(e).replace(/\.?0+$/,r=>r.includes(".")?"":r)).replace("-","−")}function lt(s,t,e){let n=(t-s)/Math.max(1,e);if(!(n>
0)||!Number.isFinite(n))return{values:[],step:1};let r=10**Math.floor(Math.log10(n)),i=r*([1,2,5].find(a=>a*r>=n*.999)??10),o=[];for(let a=Math.ceil(s/i-1e-9);a*i<=t+1e-9*i;a++)o.push(a*i);return{values:o,
step:i}}function ct(s,t){if(Math.abs(s)<1e-9*t)return"0";let e=Math.floor(Math.log10(Math.abs(s))+1e-9);if(e>=6&&t>=1||e<-4)return O(s,Math.min(15,Math.max(1,e-Math.floor(Math.log10(t)+1e-9)+1)));let n=Math.
max(0,Math.min(12,-Math.floor(Math.log10(t)+1e-9)));return s.toLocaleString("en",{minimumFractionDigits:0,maximumFractionDigits:n}).replace("-","−")}function ke(s,t,e){let n=t*Math.cos(e),r=t*Math.sin(e),i=(s+.3963377774*n+.2158037573*r)**3,o=(s-.1055613458*n-.0638541728*r)**3,a=(s-.0894841775*n-1.291485548*r)**3,l=[4.0767416621*i-3.3077115913*o+.2309699292*
a,-1.2684380046*i+2.6097574011*o-.3413193965*a,-.0041960863*i-.7034186147*o+1.707614701*a],c=h=>{let m=h<=.0031308?12.92*h:1.055*h**.4166666666666667-.055;return Math.round(255*Math.min(1,Math.max(0,m)))};
return[c(l[0]),c(l[1]),c(l[2])]}function ft(s){let t=new Uint8Array(4096);for(let e=0;e<1024;e++){let n=2*Math.PI*(e*.6180339887%1),r=(e>>3)%4,i=s?.36+.07*r:.74+.055*r;t.set([...ke(i,s?.075:.085,n),255],
4*e)}return t}function W(s,t,e){if(s===0)return e?[150,150,160]:[110,110,120];let n=.5+5*(s-1)/Math.max(1,t);return ke(e?.78:.55,.16,n)}function j(){let s=[[.2777273272,.0054073445,.3340998053],[.1050930431,
1.4046135299,1.3845901626],[-.3308618287,.2148475595,.095095163],[-4.634230499,-5.7991009734,-19.3324409563],[6.2282699363,14.1799333668,56.6905526007],[4.7763849977,-13.745145378,-65.3530326334],[-5.4354558559,
4.6458526122,26.3124352496]],t=new Uint8Array(4*256);for(let e=0;e<256;e++){for(let n=0;n<3;n++){let r=s.reduceRight((i,o)=>i*(e/255)+o[n],0);t[4*e+n]=Math.round(255*Math.min(1,Math.max(0,r)))}t[4*e+3]=
255}return t}var Ee=[[0,114,178],[230,97,0],[0,158,115],[204,82,160],[240,190,30],[86,180,233],[120,70,30],[110,110,110],[130,60,190],[170,200,60]];function ut(s){return Ee[s%Ee.length]}function _([s,
t,e],n=1){return n===1?`rgb(${s},${t},${e})`:`rgba(${s},${t},${e},${n})`}var pt={azimuth:-.95,elevation:.5,distance:4.8},bt=class{azimuth=pt.azimuth;elevation=pt.elevation;distance=pt.distance;turn(t,e){this.azimuth-=t*.008,this.elevation=Math.min(1.55,Math.max(-1.55,this.
elevation+e*.008))}approach(t){this.distance=Math.min(12,Math.max(.6,this.distance/t))}home(){Object.assign(this,pt)}get eye(){let t=Math.cos(this.elevation)*this.distance;return[t*Math.cos(this.azimuth),
t*Math.sin(this.azimuth),Math.sin(this.elevation)*this.distance]}frame(){let[t,e]=[Math.cos(this.azimuth),Math.sin(this.azimuth)],[n,r]=[Math.cos(this.elevation),Math.sin(this.elevation)];return[[-e,t,
0],[-r*t,-r*e,n],[n*t,n*e,r]]}matrix(t){let[e,n,r]=this.frame(),i=2.6*Math.min(1,t),[o,a]=[i/t,i],[l,c]=[Math.max(.02,this.distance-3),this.distance+3],[h,m]=[-(c+l)/(c-l),-2*c*l/(c-l)],d=[];for(let p=0;p<
3;p++)d.push(o*e[p],a*n[p],h*r[p],-r[p]);return d.push(0,0,-h*this.distance+m,this.distance),Float32Array.from(d)}project(t,[e,n,r],i,o){let a=c=>t[c]*e+t[4+c]*n+t[8+c]*r+t[12+c],l=a(3);return[(.5+.5*
a(0)/l)*i,(.5-.5*a(1)/l)*o,l]}ray(t,e,n,r){let[i,o,a]=this.frame(),l=n/r,c=2.6*Math.min(1,l),h=(2*t/n-1)*(l/c),m=(1-2*e/r)/c,d=p=>h*i[p]+m*o[p]-a[p];return[d(0),d(1),d(2)]}};var gt=class{widths;outputs;neurons;starts=[];inputs;embedding;layers;constructor(t,e){this.widths=t.widths,this.outputs=t.outputs,this.neurons=t.widths.reduce((r,i)=>r+i,0);let n=0;for(let r of t.widths)
this.starts.push(n),n+=r;this.inputs=t.inputs,this.embedding=e.embedding??Bn(t.inputs),this.layers=t.terms.map((r,i)=>({bias:e[`bias${i+1}`],terms:r.map(o=>({...o,data:e[o.name],index:e[`${o.name}colu\
mns`],ends:e[`${o.name}ends`]})),breakpoints:e[`breakpoints${i+1}`],slopes:e[`slopes${i+1}`],intercepts:e[`intercepts${i+1}`]}))}inputsAt(t){let e=this.embedding,n=this.inputs+1,r=new Float64Array(e.length/
n);for(let i=0;i<r.length;i++){let o=0;for(let a=0;a<this.inputs;a++)o+=e[n*i+a]*t[a];r[i]=o+e[n*i+this.inputs]}return r}patternAt(t){let e=new Uint8Array(this.neurons),n=[this.inputsAt(t)];for(let r=0;r<
this.widths.length;r++){let i=jt(this.layers[r],n,1),o=e.subarray(this.starts[r],this.starts[r]+this.widths[r]),a=this.layers[r].breakpoints.length/this.widths[r];for(let l=0;l<i.length;l++)for(let c=0;c<
a;c++)i[l]>this.layers[r].breakpoints[l*a+c]&&o[l]++;n.push(Me(this.layers[r],i,o,1))}return e}mapper(){let t=this.inputs+1,e=[Float64Array.from(this.embedding)],n=null;return r=>{let i=0;if(n)for(;i<
this.widths.length&&this.sameLayer(i,n,r);)i++;for(;i<this.widths.length;i++){let o=r.subarray(this.starts[i],this.starts[i]+this.widths[i]);e[i+1]=Me(this.layers[i],jt(this.layers[i],e,t),o,t)}return n=
r.slice(),jt(this.layers[this.widths.length],e,t)}}sameLayer(t,e,n){let r=this.starts[t]+this.widths[t];for(let i=this.starts[t];i<r;i++)if(e[i]!==n[i])return!1;return!0}};function jt(s,t,e){let n=s.bias.
length,r=new Float64Array(n*e);for(let i=0;i<n;i++)r[i*e+e-1]=s.bias[i];for(let i of s.terms)e>1?Fn(r,i,t[i.source],n,e):Rn(r,i,t[i.source],n);return r}function Pe(s,t){return s.sparse?[t?s.ends[t-1]:
0,s.ends[t]]:[t*s.columns,(t+1)*s.columns]}function Rn(s,t,e,n){let{data:r,index:i}=t;for(let o=0;o<n;o++){let[a,l]=Pe(t,o),c=0;for(let h=a;h<l;h++)c+=r[h]*e[i?i[h]:h-a];s[o]+=c}}function Fn(s,t,e,n,r){
let{data:i,index:o}=t,a=new Float64Array(r);for(let l=0;l<n;l++){let[c,h]=Pe(t,l);a.fill(0);for(let m=c;m<h;m++){let d=r*(o?o[m]:m-c),p=i[m];for(let b=0;b<r;b++)a[b]+=p*e[d+b]}for(let m=0;m<r;m++)s[r*
l+m]+=a[m]}}function Bn(s){let t=new Float64Array(s*(s+1));for(let e=0;e<s;e++)t[e*(s+1)+e]=1;return t}function Me(s,t,e,n){let r=new Float64Array(t.length),i=s.slopes.length/e.length;for(let o=0;o<e.
length;o++){let a=o*i+e[o],l=s.slopes[a];if(l!==0)for(let c=0;c<n;c++)r[o*n+c]=l*t[o*n+c];r[o*n+n-1]+=s.intercepts[a]}return r}var yt=class{constructor(t,e,n,r){this.neurons=n;this.bits=r;this.size=Math.
ceil(n*r/8),this.bytes=new Uint8Array(e*this.size);for(let o=0;o<this.size;o++){let a=0;for(let l=0;l<e;l++)a^=t[o*e+l],this.bytes[l*this.size+o]=a}let i=16;for(;i<2*e;)i*=2;this.slots=new Int32Array(
i).fill(-1);for(let o=0;o<e;o++){let a=Yt(this.bytes,o*this.size,this.size*8)&i-1;for(;this.slots[a]>=0;)a=a+1&i-1;this.slots[a]=o}}neurons;bits;size;bytes;slots;unpack(t,e=new Uint8Array(this.neurons)){
let n=t*this.size;for(let r=0;r<this.neurons;r++){let i=0;for(let o=0;o<this.bits;o++){let a=r*this.bits+o;i|=(this.bytes[n+(a>>3)]>>(a&7)&1)<<o}e[r]=i}return e}find(t){let e=new Uint8Array(this.size);
for(let i=0;i<this.neurons;i++)for(let o=0;o<this.bits;o++){let a=i*this.bits+o;e[a>>3]|=(t[i]>>o&1)<<(a&7)}let n=this.slots.length-1,r=Yt(e,0,this.size*8)&n;for(;this.slots[r]>=0;r=r+1&n){let i=this.
slots[r]*this.size,o=0;for(;o<this.size&&this.bytes[i+o]===e[o];)o++;if(o===this.size)return this.slots[r]}return-1}prefixHash(t,e){return Yt(this.bytes,t*this.size,e*this.bits)}};function Yt(s,t,e){let n=2166136261,
r=e>>3;for(let o=0;o<r;o++)n=Math.imul(n^s[t+o],16777619);let i=e&7;return i&&(n=Math.imul(n^s[t+r]&(1<<i)-1,16777619)),n^=n>>>15,n=Math.imul(n,739982445),n^=n>>>12,n=Math.imul(n,695872825),(n^n>>>15)>>>
0}var tt=class{constructor(t,e,n,r){this.about=e;this.count=e.regions,this.depth=e.widths.length,this.inputs=e.inputs,this.centre=t.centre,this.scale=t.scale,this.sides=n.sides,this.areas=n.areas,this.lineLayer=
n.lineLayer,this.lineIndex=n.lineIndex,this.lineBend=n.lineBend,this.behind=new Int32Array(this.sides.length);for(let i=0,o=0;i<this.count;i++)for(let a=o+r[i];o<a;o++)this.behind[o]=n.neighbours[o]===
0?-1:i+n.neighbours[o];this.network=new gt(e,n),this.allMaps=n.maps??null,this.table=new yt(n.patterns,this.count,this.network.neurons,e.bits)}about;count;depth;inputs;centre;scale;sides;lineLayer;lineIndex;lineBend;behind;areas;network;table;allMaps;pattern(t){
return this.table.unpack(t)}neighbours(t){let e=new Set(this.behind.subarray(this.facetStarts[t],this.facetStarts[t+1]));return e.delete(-1),[...e]}facets(t){let e=this.pattern(t),n=[];for(let r=this.
facetStarts[t];r<this.facetStarts[t+1];r++){let i=this.sides[r],o={behind:this.behind[r],neurons:[]};if(this.lineLayer[i]>0){let a={layer:this.lineLayer[i],index:this.lineIndex[i],bend:this.lineBend[i]};
o.neurons.push(a),o.behind>=0&&this.addOthers(o,e,a)}n.push(o)}return n}addOthers(t,e,n){let r=this.pattern(t.behind);for(let i=0;i<this.depth;i++){let o=this.network.starts[i];for(let a=0;a<this.network.
widths[i];a++)if(!(i+1===n.layer&&a===n.index)&&e[o+a]!==r[o+a]){let c=Math.min(e[o+a],r[o+a]);t.neurons.push({layer:i+1,index:a,bend:c})}}}map(t){return this.network.mapper()(this.pattern(t))}get maps(){
if(!this.allMaps){let t=(this.inputs+1)*this.network.outputs,e=new Float64Array(this.count*t),n=this.network.mapper(),r=new Uint8Array(this.network.neurons);for(let i=0;i<this.count;i++)e.set(n(this.table.
unpack(i,r)),i*t);this.allMaps=e}return this.allMaps}valueAt(t,e,n){let r=(this.inputs+1)*(t*this.network.outputs+e),i=this.maps[r+this.inputs];for(let o=0;o<this.inputs;o++)i+=this.maps[r+o]*n[o];return i}gradientNorm(t,e){
let n=(this.inputs+1)*(t*this.network.outputs+e);return Math.hypot(...this.maps.subarray(n,n+this.inputs))}shader(t,{layer:e,output:n,dark:r}){let i={flat:!0,logarithmic:!1};if(t==="pattern"){let o=new Uint32Array(
ft(r).buffer),a=this.neuronsUpTo(e);return{...i,colour:l=>o[this.table.prefixHash(l,a)&1023]}}if(t==="bends"){let o=new Uint32Array(this.depth+1),a=new Uint8Array(o.buffer);for(let l=0;l<=this.depth;l++)
a.set([...W(l,this.depth,r),255],4*l);return{...i,colour:l=>o[this.firstLayer(l)]}}return t==="value"?{...i,flat:!1,value:(o,a)=>this.valueAt(o,n,a)}:t==="gradient"?{...i,value:o=>this.gradientNorm(o,
n)}:{...i,value:o=>Math.log10(this.areas[o]),logarithmic:!0}}neuronsUpTo(t){return t?this.network.starts[t-1]+this.network.widths[t-1]:0}firstLayer(t){let e=1/0;for(let n=this.facetStarts[t];n<this.facetStarts[t+
1];n++){let r=this.lineLayer[this.sides[n]];r>0&&r<e&&(e=r)}return e===1/0?0:e}};function Te(s){let[t,e]=[1/0,-1/0];for(let n of s)n<t&&n>-1/0&&(t=n),n>e&&n<1/0&&(e=n);return t<=e?{values:s,low:t,high:e}:
{values:s,low:0,high:1}}function et(s){let t=new Uint32Array(s.length+1);for(let e=0;e<s.length;e++)t[e+1]=t[e]+s[e];return t}var z=class extends tt{corners;starts;facetStarts;boundary=null;constructor(t,e,n){super(t,e,n,n.counts),this.corners=n.corners,this.starts=this.facetStarts=et(n.counts)}locate([t,e]){let n=1e-9*this.
scale;for(let[r,i]of[[0,0],[1,.3],[-1,-.3],[-.3,1],[.3,-1]]){let o=this.table.find(this.network.patternAt([t+r*n,e+i*n]));if(o>=0&&this.near(o,t,e))return o}return-1}near(t,e,n){let r=this.polygon(t),
i=0;for(let o=0;o<r.length;o++){let[a,l]=r[o],[c,h]=r[(o+1)%r.length],m=Math.hypot(c-a,h-l),d=((c-a)*(n-l)-(h-l)*(e-a))/(m||1);if(!(Math.abs(d)<=1e-6*this.scale)){if(i&&Math.sign(d)!==i)return!1;i=Math.
sign(d)}}return!0}polygon(t){let e=[];for(let n=this.starts[t];n<this.starts[t+1];n++)e.push(this.corner(n));return e}middle(t){let e=this.polygon(t),n=e.reduce(([r,i],[o,a])=>[r+o,i+a],[0,0]);return[
n[0]/e.length,n[1]/e.length]}shades(t,e){let n=this.shader(t,e),{colour:r,value:i,logarithmic:o}=n;if(r)return{colours:this.perCorner(Uint32Array,r),low:0,high:1};let a=n.flat?this.perRegion(i):null,l=this.
perCorner(Float32Array,(c,h)=>a?a[c]:i(c,this.corner(h)));return{...Te(l),logarithmic:o}}perRegion(t){return Float64Array.from({length:this.count},(e,n)=>t(n,[]))}heights(t){return this.perCorner(Float32Array,
(e,n)=>this.valueAt(e,t,this.corner(n)))}corner(t){return[this.centre[0]+this.scale*this.corners[2*t],this.centre[1]+this.scale*this.corners[2*t+1]]}perCorner(t,e){let n=new t(this.sides.length);for(let r=0;r<
this.count;r++)for(let i=this.starts[r];i<this.starts[r+1];i++)n[i]=e(r,i);return n}triangles(){let t=new Uint32Array(3*(this.sides.length-2*this.count)),e=0;for(let n=0;n<this.count;n++)for(let r=this.
starts[n]+1;r+1<this.starts[n+1];r++)t[e++]=this.starts[n],t[e++]=r,t[e++]=r+1;return t}edges(){let t=new Uint32Array(this.depth+1),e=(i,o)=>this.behind[o]<0||this.behind[o]>i;for(let i=0;i<this.count;i++)
for(let o=this.starts[i];o<this.starts[i+1];o++)e(i,o)&&t[this.lineLayer[this.sides[o]]]++;let n=new Uint32Array(this.depth+1);for(let i=1;i<=this.depth;i++)n[i]=t[i-1],t[i]+=t[i-1];let r=new Uint32Array(
2*t[this.depth]);for(let i=0;i<this.count;i++)for(let o=this.starts[i];o<this.starts[i+1];o++){if(!e(i,o))continue;let a=2*n[this.lineLayer[this.sides[o]]]++;r[a]=o,r[a+1]=o+1<this.starts[i+1]?o+1:this.
starts[i]}return{pairs:r,ends:t}}get decisionBoundary(){if(!this.boundary){let t=[];for(let e=0;e<this.count;e++)this.addDecisions(e,t);this.boundary=t}return this.boundary}boundaryOf(t,e){let n=[];for(let r=0;r<
this.count;r++)for(let i=this.starts[r];i<this.starts[r+1];i++){let o=this.sides[i];if(this.lineLayer[o]!==t||this.lineIndex[o]!==e)continue;let a=i+1<this.starts[r+1]?i+1:this.starts[r];n.push(...this.
corner(i),...this.corner(a))}return n}addDecisions(t,e){let n=this.network.outputs,r=this.polygon(t),i=(o,a)=>this.valueAt(t,o,a);for(let o=0;o<n;o++)for(let a=o+1;a<Math.max(n,2);a++){let c=Un(r,h=>i(
o,h)-(n>1?i(a,h):0));for(let h=0;c&&h<n;h++)h!==o&&h!==a&&(c=In(c,m=>i(o,m)-i(h,m)));c&&e.push(...c[0],...c[1])}}};function Un(s,t){let e=[];for(let n=0;n<s.length;n++){let r=s[n],i=s[(n+1)%s.length],
[o,a]=[t(r),t(i)];o>0!=a>0&&e.push(Le(r,i,o/(o-a)))}return e.length===2?[e[0],e[1]]:null}function In([s,t],e){let[n,r]=[e(s),e(t)];if(n<0&&r<0)return null;if(n>=0&&r>=0)return[s,t];let i=Le(s,t,n/(n-r));
return n<0?[i,t]:[s,i]}function Le(s,t,e){return[s[0]+e*(t[0]-s[0]),s[1]+e*(t[1]-s[1])]}var On=`#version 300 es
in vec2 corner;
in vec4 colour;
in float value;
uniform vec4 view;       // factor x, y; offset x, y
uniform vec2 range;      // low, 1 / (high - low)
out vec4 vColour;
out float vValue;
void main() {
  gl_Position = vec4(corner * view.xy + view.zw, 0.0, 1.0);
  vColour = colour;
  vValue = clamp((value - range.x) * range.y, 0.0, 1.0);
}`,_n=`#version 300 es
precision highp float;
in vec4 vColour;
in float vValue;
uniform int mode;        // 0: colours, 1: numbers, 2: one colour
uniform vec4 single;
uniform sampler2D ramp;
out vec4 result;
void main() {
  if (mode == 2) result = vec4(single.rgb * single.a, single.a);
  else if (mode == 1) result = texture(ramp, vec2((vValue * 255.0 + 0.5) / 256.0, 0.5));
  else result = vColour;
}`,vt=class{gl;program;uniforms;buffers;picture;triangleCount=0;edgeEnds=new Uint32Array(1);shades={low:0,high:1};constructor(t){let e=t.getContext("webgl2",{antialias:!0,alpha:!1});if(!e)throw new Error(
"this page needs WebGL 2, which the browser does not offer");this.gl=e,this.program=Xt(e,On,_n),e.useProgram(this.program);let n=r=>e.getUniformLocation(this.program,r);this.uniforms={view:n("view"),range:n(
"range"),mode:n("mode"),single:n("single")},e.enable(e.BLEND),e.blendFunc(e.ONE,e.ONE_MINUS_SRC_ALPHA),e.bindTexture(e.TEXTURE_2D,e.createTexture()),e.texImage2D(e.TEXTURE_2D,0,e.RGBA,256,1,0,e.RGBA,e.
UNSIGNED_BYTE,j()),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,e.LINEAR),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),this.buffers={corner:e.createBuffer(),colour:e.createBuffer(),
value:e.createBuffer(),triangles:e.createBuffer(),edges:e.createBuffer()},this.attribute("corner",2,e.FLOAT,!1),this.attribute("colour",4,e.UNSIGNED_BYTE,!0),this.attribute("value",1,e.FLOAT,!1)}attribute(t,e,n,r){
let{gl:i}=this,o=i.getAttribLocation(this.program,t);i.bindBuffer(i.ARRAY_BUFFER,this.buffers[t]),i.enableVertexAttribArray(o),i.vertexAttribPointer(o,e,n,r,0,0)}fill(t,e,n=this.gl.ARRAY_BUFFER){this.
gl.bindBuffer(n,this.buffers[t]),this.gl.bufferData(n,e,this.gl.STATIC_DRAW)}show(t){let e=this.gl.ELEMENT_ARRAY_BUFFER;this.picture=t;let n=t.triangles(),{pairs:r,ends:i}=t.edges();this.fill("corner",
t.corners),this.fill("triangles",n,e),this.fill("edges",r,e),this.triangleCount=n.length,this.edgeEnds=i}shade(t){let e=this.picture.sides.length;this.shades=t,this.fill("colour",t.colours??new Uint32Array(
e)),this.fill("value",t.values??new Float32Array(e))}draw(t,{layer:e,edges:n,dark:r,background:i}){let{gl:o,uniforms:a,picture:l}=this,{width:c,height:h}=o.canvas;o.viewport(0,0,c,h),o.clearColor(i[0]/
255,i[1]/255,i[2]/255,1),o.clear(o.COLOR_BUFFER_BIT);let[m,d]=[2*t.zoom/c,2*t.zoom/h],{centre:p,scale:b}=l;o.uniform4f(a.view,b*m,b*d,(p[0]-t.x)*m,(p[1]-t.y)*d);let{low:y,high:w,values:k}=this.shades;
o.uniform2f(a.range,y,1/(w-y||1)),o.uniform1i(a.mode,k?1:0),o.bindBuffer(o.ELEMENT_ARRAY_BUFFER,this.buffers.triangles),o.drawElements(o.TRIANGLES,this.triangleCount,o.UNSIGNED_INT,0);let P=this.edgeStrength(
t,e);if(n==="none"||P===0)return;o.uniform1i(a.mode,2),o.bindBuffer(o.ELEMENT_ARRAY_BUFFER,this.buffers.edges);let F=r?[0,0,0]:k?[255,255,255]:[40,40,60];for(let C=n==="layers"?0:e;C<=e;C++){let D=n===
"layers"&&C>0?this.edgeEnds[C-1]:0,T=n==="layers"?W(C,l.depth,r):F,N=n==="layers"?Math.max(P,.5):.6*P;o.uniform4f(a.single,T[0]/255,T[1]/255,T[2]/255,N),o.drawElements(o.LINES,2*(this.edgeEnds[C]-D),o.
UNSIGNED_INT,8*D)}}edgeStrength(t,e){let n=this.edgeEnds[e]/Math.max(1,this.edgeEnds[this.picture.depth]),r=Math.max(1,this.picture.count*n*n),i=2*this.picture.scale*t.zoom/Math.sqrt(r);return i<2.5*(window.
devicePixelRatio||1)?0:Math.min(1,i/14)}measure(t,e,n){let{gl:r}=this,i=performance.now();this.draw(t,e);let o=r.fenceSync(r.SYNC_GPU_COMMANDS_COMPLETE,0);r.flush();let a=()=>{if(o&&r.getSyncParameter(
o,r.SYNC_STATUS)===r.UNSIGNALED&&!r.isContextLost()){setTimeout(a);return}r.deleteSync(o),n(performance.now()-i)};setTimeout(a)}};function Xt(s,t,e){let n=s.createProgram();for(let[r,i]of[[s.VERTEX_SHADER,
t],[s.FRAGMENT_SHADER,e]]){let o=s.createShader(r);if(s.shaderSource(o,i),s.compileShader(o),!s.getShaderParameter(o,s.COMPILE_STATUS))throw new Error(s.getShaderInfoLog(o)??"shader");s.attachShader(n,
o)}if(s.linkProgram(n),!s.getProgramParameter(n,s.LINK_STATUS))throw new Error(s.getProgramInfoLog(n)??"program");return n}var Dn=`#version 300 es
in vec3 position;
in vec4 colour;
in float value;
in uint owner;
uniform mat4 camera;
uniform vec2 range;      // low, 1 / (high - low)
out vec4 vColour;
out float vValue;
out vec3 vPlace;
flat out uint vOwner;
void main() {
  gl_Position = camera * vec4(position, 1.0);
  vColour = colour;
  vValue = clamp((value - range.x) * range.y, 0.0, 1.0);
  vPlace = position;
  vOwner = owner;
}`,Wn=`#version 300 es
precision highp float;
in vec4 vColour;
in float vValue;
in vec3 vPlace;
flat in uint vOwner;
uniform int mode;        // 0: colours, 1: numbers, 2: one colour, 3: owners
uniform vec4 single;
uniform vec4 plane;      // what is beyond it is cut away
uniform vec3 eye;
uniform sampler2D ramp;
out vec4 result;
void main() {
  if (dot(plane.xyz, vPlace) > plane.w) discard;
  if (mode == 3) {
    result = vec4(uvec4(vOwner, vOwner >> 8, vOwner >> 16, vOwner >> 24) & 255u) / 255.0;
    return;
  }
  if (mode == 2) { result = vec4(single.rgb * single.a, single.a); return; }
  vec3 tone = mode == 1 ? texture(ramp, vec2((vValue * 255.0 + 0.5) / 256.0, 0.5)).rgb : vColour.rgb;
  vec3 normal = normalize(cross(dFdx(vPlace), dFdy(vPlace)));
  vec3 towards = normalize(eye - vPlace);
  if (dot(normal, towards) < 0.0) normal = -normal;
  float light = 0.62 + 0.30 * max(0.0, dot(normal, normalize(vec3(0.35, 0.2, 0.9))))
    + 0.16 * max(0.0, dot(normal, towards));
  result = vec4(tone * min(light, 1.08), 1.0);
}`,zn=["camera","range","mode","single","plane","eye"],wt=class{gl;program;uniforms;loaded=new Map;picking;shown="";owners=null;constructor(t){let e=t.getContext("webgl2",{antialias:!0,alpha:!0,preserveDrawingBuffer:!1});
if(!e)throw new Error("this page needs WebGL 2, which the browser does not offer");this.gl=e,this.program=Xt(e,Dn,Wn),e.useProgram(this.program);let n=zn.map(r=>[r,e.getUniformLocation(this.program,r)]);
this.uniforms=Object.fromEntries(n),e.bindTexture(e.TEXTURE_2D,e.createTexture()),e.texImage2D(e.TEXTURE_2D,0,e.RGBA,256,1,0,e.RGBA,e.UNSIGNED_BYTE,j()),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,
e.LINEAR),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),e.enable(e.DEPTH_TEST),e.enable(e.BLEND),e.blendFunc(e.ONE,e.ONE_MINUS_SRC_ALPHA),this.picking={frame:e.createFramebuffer(),colour:e.
createRenderbuffer(),depth:e.createRenderbuffer()}}set(t,e){let{gl:n}=this,r=this.loaded.get(t);if(r){n.deleteVertexArray(r.arrays);for(let i of[...r.buffers,r.triangles,r.lines])n.deleteBuffer(i);this.
loaded.delete(t)}this.owners=null,e&&this.loaded.set(t,this.load(e))}load(t){let{gl:e}=this,n=t.positions.length/3,r=e.createVertexArray();e.bindVertexArray(r);let i=[],o=(h,m,d,p)=>{let b=e.createBuffer();
i.push(b),e.bindBuffer(e.ARRAY_BUFFER,b),e.bufferData(e.ARRAY_BUFFER,m,e.STATIC_DRAW);let y=e.getAttribLocation(this.program,h);e.enableVertexAttribArray(y),p===e.UNSIGNED_INT?e.vertexAttribIPointer(y,
d,p,0,0):e.vertexAttribPointer(y,d,p,p===e.UNSIGNED_BYTE,0,0)};o("position",t.positions,3,e.FLOAT),o("colour",t.colours??new Uint32Array(n),4,e.UNSIGNED_BYTE),o("value",t.values??new Float32Array(n),1,
e.FLOAT),o("owner",t.owners??new Uint32Array(n),1,e.UNSIGNED_INT);let a=h=>{let m=e.createBuffer();return e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,m),e.bufferData(e.ELEMENT_ARRAY_BUFFER,h,e.STATIC_DRAW),m},
l=a(t.triangles),c=a(t.lines??new Uint32Array);return e.bindVertexArray(null),{batch:t,arrays:r,buffers:i,triangles:l,lines:c}}draw(t){let{gl:e,uniforms:n}=this;e.viewport(0,0,e.drawingBufferWidth,e.drawingBufferHeight),
e.clearColor(0,0,0,0),e.clear(e.COLOR_BUFFER_BIT|e.DEPTH_BUFFER_BIT),this.prepare(t);let r=[...t.camera,...t.plane??[],e.drawingBufferWidth,e.drawingBufferHeight].join();r!==this.shown&&(this.owners=null),
this.shown=r;for(let{batch:i,arrays:o,triangles:a,lines:l}of this.loaded.values())this.cutting(i,t),e.bindVertexArray(o),e.enable(e.POLYGON_OFFSET_FILL),e.polygonOffset(1,1),e.uniform1i(n.mode,i.values?
1:0),e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,a),e.drawElements(e.TRIANGLES,i.triangles.length,e.UNSIGNED_INT,0),e.disable(e.POLYGON_OFFSET_FILL),i.lines?.length&&this.drawLines(i,l,t);e.bindVertexArray(null)}drawLines({
lineEnds:t=[]},e,n){let{gl:r,uniforms:i}=this;r.uniform1i(i.mode,2),r.bindBuffer(r.ELEMENT_ARRAY_BUFFER,e);for(let o=0,a=0;o<t.length;a=t[o++]){let l=n.lines(o);!l||t[o]===a||(r.uniform4f(i.single,...l),
r.drawElements(r.LINES,2*(t[o]-a),r.UNSIGNED_INT,8*a))}}prepare(t){let{gl:e,uniforms:n}=this;e.uniformMatrix4fv(n.camera,!1,t.camera),e.uniform3f(n.eye,t.eye[0],t.eye[1],t.eye[2]),e.uniform2f(n.range,
t.low,1/(t.high-t.low||1))}cutting(t,{plane:e}){let[n,r,i,o]=t.cut&&e?e:[0,0,0,1];this.gl.uniform4f(this.uniforms.plane,n,r,i,o)}ownerAt(t,e,n){let{gl:r}=this,[i,o]=[r.drawingBufferWidth,r.drawingBufferHeight];
this.owners||(this.owners=new Uint32Array(i*o),r.bindFramebuffer(r.FRAMEBUFFER,this.picking.frame),this.drawOwners(i,o,n),r.readPixels(0,0,i,o,r.RGBA,r.UNSIGNED_BYTE,new Uint8Array(this.owners.buffer)),
r.bindFramebuffer(r.FRAMEBUFFER,null));let[a,l]=[Math.floor(t),o-1-Math.floor(e)];return a>=0&&a<i?this.owners[l*i+a]??0:0}drawOwners(t,e,n){let{gl:r,picking:i}=this;r.bindRenderbuffer(r.RENDERBUFFER,
i.colour),r.renderbufferStorage(r.RENDERBUFFER,r.RGBA8,t,e),r.framebufferRenderbuffer(r.FRAMEBUFFER,r.COLOR_ATTACHMENT0,r.RENDERBUFFER,i.colour),r.bindRenderbuffer(r.RENDERBUFFER,i.depth),r.renderbufferStorage(
r.RENDERBUFFER,r.DEPTH_COMPONENT24,t,e),r.framebufferRenderbuffer(r.FRAMEBUFFER,r.DEPTH_ATTACHMENT,r.RENDERBUFFER,i.depth),r.viewport(0,0,t,e),r.disable(r.BLEND),r.clearColor(0,0,0,0),r.clear(r.COLOR_BUFFER_BIT|
r.DEPTH_BUFFER_BIT),this.prepare(n),r.uniform1i(this.uniforms.mode,3);for(let{batch:o,arrays:a,triangles:l}of this.loaded.values())this.cutting(o,n),r.bindVertexArray(a),r.bindBuffer(r.ELEMENT_ARRAY_BUFFER,
l),r.drawElements(r.TRIANGLES,o.triangles.length,r.UNSIGNED_INT,0);r.bindVertexArray(null),r.enable(r.BLEND)}};var xt=class{constructor(t,e){this.cells=t;this.shader=e}cells;shader;positions=[];colours=[];values=[];owners=[];triangles=[];lines=[];add(t,e,n){return this.positions.push(e[0],e[1],e[2]),this.colours.
push(this.shader.colour?.(t)??0),this.shader.value&&this.values.push(this.shader.value(t,this.cells.absolute(n))),this.owners.push(t+1),this.owners.length-1}addLine(t,e,n){for(;this.lines.length<=t;)this.
lines.push([]);this.lines[t].push(e,n)}batch(t){let e=0;return{positions:Float32Array.from(this.positions),colours:Uint32Array.from(this.colours),values:this.shader.value?Float32Array.from(this.values):
void 0,owners:Uint32Array.from(this.owners),triangles:Uint32Array.from(this.triangles),lines:Uint32Array.from(this.lines.flat()),lineEnds:this.lines.map(n=>e+=n.length/2),cut:t}}},G=class extends tt{corners;starts;facetStarts;faceStarts;faceCorners;middles;constructor(t,e,n){
super(t,e,n,n.facetCounts),this.corners=n.corners,this.starts=et(n.counts),this.facetStarts=et(n.facetCounts),this.faceStarts=et(n.faceSizes),this.faceCorners=n.faceCorners,this.middles=new Float32Array(
3*this.count);for(let r=0;r<this.count;r++){let i=this.starts[r+1]-this.starts[r];for(let o=this.starts[r];o<this.starts[r+1];o++)for(let a=0;a<3;a++)this.middles[3*r+a]+=this.corners[3*o+a]/i}}absolute(t){
return t.map((e,n)=>this.centre[n]+this.scale*e)}relative(t){return t.map((e,n)=>(e-this.centre[n])/this.scale)}corner(t){return[this.corners[3*t],this.corners[3*t+1],this.corners[3*t+2]]}middle(t){return this.
absolute([...this.middles.subarray(3*t,3*t+3)])}locate(t){let e=1e-9*this.scale;for(let[n,r,i]of[[0,0,0],[1,.3,.5],[-1,-.3,-.5],[-.3,1,.4],[.3,-1,-.4]]){let o=[t[0]+n*e,t[1]+r*e,t[2]+i*e],a=this.table.
find(this.network.patternAt(o));if(a>=0&&this.near(a,this.relative(t)))return a}return-1}near(t,e){let n=[...this.middles.subarray(3*t,3*t+3)];for(let r=this.facetStarts[t];r<this.facetStarts[t+1];r++){
let i=this.face(t,r);if(i.length<3)continue;let o=Ne(i),a=nt(o,Kt(n,i[0]));if(nt(o,Kt(e,i[0]))*Math.sign(a)<-1e-6)return!1}return!0}face(t,e){let n=[];for(let r=this.faceStarts[e];r<this.faceStarts[e+
1];r++)n.push(this.corner(this.starts[t]+this.faceCorners[r]));return n}moved(t,e,n){let r=1-.55*n;return e.map((i,o)=>{let a=this.middles[3*t+o];return a+r*(i-a)})}outline(t,e){let n=[];for(let r=this.
facetStarts[t];r<this.facetStarts[t+1];r++){let i=this.face(t,r).map(o=>this.moved(t,o,e));i.forEach((o,a)=>n.push([o,i[(a+1)%i.length]]))}return n}entry(t,e,n,r,i){let o=[...this.middles.subarray(3*t,
3*t+3)],[a,l]=[0,1/0],c=(d,p)=>{let[b,y]=[nt(d,e),nt(d,n)];y<0?a=Math.max(a,(p-b)/y):y>0&&(l=Math.min(l,(p-b)/y))};for(let d=this.facetStarts[t];d<this.facetStarts[t+1];d++){let p=this.face(t,d).map(w=>this.
moved(t,w,r));if(p.length<3)continue;let b=Ne(p),y=nt(b,Kt(o,p[0]))>0?b.map(w=>-w):b;c(y,nt(y,p[0]))}if(i&&c(i,i[3]),!Number.isFinite(a)||a>l+1e-6)return null;let h=1-.55*r,m=o.map((d,p)=>d+(e[p]+a*n[p]-
d)/h);return this.absolute(m)}edgeLayers(t){let e=new Map;for(let n=this.facetStarts[t];n<this.facetStarts[t+1];n++){let[r,i]=[this.faceStarts[n],this.faceStarts[n+1]],o=this.lineLayer[this.sides[n]];
for(let a=r;a<i;a++){let l=Ce(this.faceCorners[a],this.faceCorners[a+1<i?a+1:r]);e.set(l,Math.max(o,e.get(l)??0))}}return e}faces(t,e){let n=new xt(this,t);for(let r=0;r<this.count;r++){let i=this.edgeLayers(
r);for(let o=this.facetStarts[r];o<this.facetStarts[r+1];o++){if(e===0&&this.behind[o]>=0)continue;let a=this.face(r,o).map(c=>n.add(r,this.moved(r,c,e),c));for(let c=1;c+1<a.length;c++)n.triangles.push(
a[0],a[c],a[c+1]);let l=this.faceStarts[o];a.forEach((c,h)=>{let m=(h+1)%a.length,d=i.get(Ce(this.faceCorners[l+h],this.faceCorners[l+m]))??0;n.addLine(d,c,a[m])})}}return n.batch(!0)}caps(t,e,n,r){let i=new xt(
this,t);for(let o=0;o<this.count;o++)this.straddles(o,e,n,r)&&this.addCap(i,o,e,n,r);return i.batch(!1)}straddles(t,e,n,r){let i=1-.55*e,o=this.middles[3*t+n],[a,l]=[!1,!1];for(let c=this.starts[t];c<
this.starts[t+1];c++)o+i*(this.corners[3*c+n]-o)<=r?a=!0:l=!0;return a&&l}addCap(t,e,n,r,i){let o=[];for(let h=this.facetStarts[e];h<this.facetStarts[e+1];h++){let m=[],d=this.face(e,h);d.forEach((p,b)=>{
let y=d[(b+1)%d.length],[w,k]=[this.moved(e,p,n)[r],this.moved(e,y,n)[r]];if(w<=i==k<=i)return;let P=(i-w)/(k-w);m.push(p.map((F,C)=>F+P*(y[C]-F)))}),m.length===2&&o.push([m[0],m[1],this.lineLayer[this.
sides[h]]])}if(o.length<3)return;let a=[0,1,2].map(h=>o.reduce((m,[d])=>m+d[h],0)/o.length),l=h=>t.add(e,this.moved(e,h,n),h),c=l(a);for(let[h,m,d]of o){let[p,b]=[l(h),l(m)];t.triangles.push(c,p,b),t.
addLine(d,p,b)}}};function Ce(s,t){return Math.min(s,t)*65536+Math.max(s,t)}function Kt(s,t){return[s[0]-t[0],s[1]-t[1],s[2]-t[2]]}function nt(s,t){return s[0]*t[0]+s[1]*t[1]+s[2]*t[2]}function Ne(s){
let t=[0,0,0];s.forEach((n,r)=>{let i=s[(r+1)%s.length];t[0]+=(n[1]-i[1])*(n[2]+i[2]),t[1]+=(n[2]-i[2])*(n[0]+i[0]),t[2]+=(n[0]-i[0])*(n[1]+i[1])});let e=Math.hypot(t[0],t[1],t[2])||1;return t.map(n=>n/
e)}var f=Se("about"),g={x:0,y:0,zoom:1},u={index:0,layer:1,colour:"pattern",output:0,edges:"plain",dark:!1,decision:!1,points:!0,mesh:!0,surface:!1,cutAxis:-1,cutAt:.5,apart:0,place:null,marked:null,neuron:null,
playing:null,panel:!0};function $(){return window.devicePixelRatio||1}var E=new bt,At=.62,St=class{constructor(t,e){this.canvas=t;this.under=e;this.scene=new wt(t)}canvas;under;scene;cells=null;heights={low:0,high:1};shades={low:0,high:1};matrix=E.matrix(1);show(t){this.
cells=t}addMesh(t,e){let n=e.vertices,r=new Uint8Array(4*n.length/3).fill(255),i=e.colours;for(let a=0;a<n.length/3;a++)for(let l=0;l<3;l++)r[4*a+l]=i?i[3*a+l]:[224,168,92][l];let o=e.triangles;this.scene.
set(t,{positions:n,colours:new Uint32Array(r.buffer),triangles:o,cut:!0})}removeMesh(t){this.scene.set(t,null)}range(){if(!(this.cells instanceof z))return null;let t=this.cells.heights(u.output),[e,n]=[
1/0,-1/0];for(let r of t)[e,n]=[Math.min(e,r),Math.max(n,r)];return{low:e,high:n}}showSurface(t,e){let n=this.cells;this.heights=e,this.shades=t;let r=n.heights(u.output),i=new Float32Array(3*r.length);
for(let c=0;c<r.length;c++)i[3*c]=n.corners[2*c],i[3*c+1]=n.corners[2*c+1],i[3*c+2]=this.height(r[c]);let o=new Uint32Array(r.length);for(let c=0;c<n.count;c++)o.fill(c+1,n.starts[c],n.starts[c+1]);let{
pairs:a,ends:l}=n.edges();this.scene.set("cells",{positions:i,colours:t.colours,values:t.values,owners:o,triangles:n.triangles(),lines:a,lineEnds:l,cut:!1})}height(t){let{low:e,high:n}=this.heights;return n>
e?At*(2*(t-e)/(n-e)-1):0}showCells(){let t=this.cells,e=t.shader(u.colour,u),n=t.faces(e,u.apart);return this.scene.set("cells",n),this.shades={low:1/0,high:-1/0,logarithmic:e.logarithmic},this.widen(
n),n.values||Object.assign(this.shades,{colours:n.colours,low:0,high:1}),this.showCut(),this.shades}widen({values:t}){if(t){for(let e of t)Number.isFinite(e)&&(this.shades.low=Math.min(this.shades.low,
e),this.shades.high=Math.max(this.shades.high,e));this.shades.values=t}}showCut(){if(!(this.cells instanceof G)||u.cutAxis<0){this.scene.set("caps",null);return}let t=this.cells.shader(u.colour,u);this.
scene.set("caps",this.cells.caps(t,u.apart,u.cutAxis,this.cutPlace()))}setRange(t,e){Object.assign(this.shades,{low:t,high:e})}cutPlace(){let{from:t,to:e}=this.axes()[u.cutAxis];return t+(e-t)*u.cutAt}plane(){
if(u.cutAxis<0)return null;let t=E.eye[u.cutAxis]<0?-1:1,e=[0,0,0];return e[u.cutAxis]=t,[...e,t*this.cutPlace()]}planeAt(){let{low:t,high:e}=this.axes()[Math.max(0,u.cutAxis)];return t+(e-t)*u.cutAt}options(){
return{camera:this.matrix,eye:E.eye,low:this.shades.low,high:this.shades.high,plane:this.plane(),lines:this.lineColours()}}lineColours(){let t=this.lineStrength();if(u.edges==="none"||t===0)return()=>null;
let e=u.dark?0:this.shades.values?1:.14,n=(e===1?.5:.75)*t;return r=>{if(r>u.layer)return null;if(u.edges==="plain")return[e,e,e,n];let[i,o,a]=W(r,this.cells.depth,u.dark);return[i/255,o/255,a/255,Math.
max(t,.5)]}}lineStrength(){let t=this.cells?.count??1,e=this.canvas.clientHeight/E.distance/(t**(1/f.inputs)||1);return e<1.5?0:Math.min(1,e/6)}axes(){let t=r=>({name:f.axes[r],from:(f.low[r]-f.centre[r])/
f.scale,to:(f.high[r]-f.centre[r])/f.scale,low:f.low[r],high:f.high[r]});if(f.inputs===3)return[t(0),t(1),t(2)];let{low:e,high:n}=this.heights;return[t(0),t(1),{name:`y${u.output+1}`,from:-At,to:At,low:e,
high:n}]}paint(t){let[e,n]=[this.canvas.clientWidth,this.canvas.clientHeight];this.matrix=E.matrix(e/Math.max(1,n)),this.scene.draw(this.options());let r=this.under.getContext("2d");r.setTransform($(),
0,0,$(),0,0),r.clearRect(0,0,e,n),this.paintBox(r,t),this.paintPlane(t)}at(t){let[e,n]=E.project(this.matrix,t,this.canvas.clientWidth,this.canvas.clientHeight);return[e,n]}line(t,e){t.beginPath();for(let n of e)
t.lineTo(...this.at(n));t.stroke()}paintBox(t,e){let n=this.axes(),r=E.eye,i=n.map(({from:b,to:y},w)=>r[w]>(b+y)/2?b:y),o=n.map(({from:b,to:y},w)=>i[w]===b?y:b),a=n.map(({low:b,high:y})=>lt(b,y,5)),l=({
from:b,to:y,low:w,high:k},P)=>b+(y-b)*(P-w)/(k-w||1);t.lineWidth=1;for(let b=0;b<3;b++){let[y,w]=[(b+1)%3,(b+2)%3],k=(T,N)=>{let U=[0,0,0];return[U[b],U[y],U[w]]=[i[b],T,N],U};t.strokeStyle=u.dark?"rg\
ba(255,255,255,0.10)":"rgba(20,24,40,0.09)";for(let T of a[y].values){let N=l(n[y],T);this.line(t,[k(N,n[w].from),k(N,n[w].to)])}for(let T of a[w].values){let N=l(n[w],T);this.line(t,[k(n[y].from,N),k(
n[y].to,N)])}t.strokeStyle=u.dark?"rgba(255,255,255,0.35)":"rgba(20,24,40,0.35)";let[P,F,C,D]=[n[y].from,n[y].to,n[w].from,n[w].to];this.line(t,[k(P,C),k(F,C),k(F,D),k(P,D),k(P,C)])}let c=[[0,o[1],i[2]],
[o[0],0,i[2]],[o[0],i[1],0]],h=[i[0],o[1],0];this.at(h)[0]<this.at(c[2])[0]&&(c[2]=h);let m=this.at([0,0,(n[2].from+n[2].to)/2]);e.font="11px system-ui, sans-serif",e.textAlign="center",e.textBaseline=
"middle";let d=u.dark?"#b9bcc8":"#555a66",p=[];for(let b=0;b<3;b++){let y=T=>c[b].map((N,U)=>U===b?T:N),w=this.at(y((n[b].from+n[b].to)/2)),k=Math.hypot(w[0]-m[0],w[1]-m[1])||1,P=[(w[0]-m[0])/k,(w[1]-
m[1])/k];e.font="600 12px system-ui, sans-serif",e.fillStyle=u.dark?"#e8e8ee":"#1d1e26";let F=e.measureText(n[b].name).width/2+2,C=Math.max(F,Math.min(e.canvas.clientWidth-F,w[0]+42*P[0])),D=w[1]+32*P[1];
e.fillText(n[b].name,C,D),p.push([C,D,F]),e.font="11px system-ui, sans-serif",e.fillStyle=d;for(let T of a[b].values){let N=this.at(y(l(n[b],T))),[U,Q,xe]=[N[0]+16*P[0],N[1]+14*P[1],ct(T,a[b].step)],Ae=e.
measureText(xe).width/2,Mn=([Pn,Tn,Ln])=>Math.abs(Pn-U)<Ln+Ae+4&&Math.abs(Tn-Q)<11;p.some(Mn)||(p.push([U,Q,Ae]),e.fillText(xe,U,Q))}}}paintPlane(t){let e=u.cutAxis;if(e<0)return;let n=this.axes(),[r,
i]=[(e+1)%3,(e+2)%3],o=[[0,0],[1,0],[1,1],[0,1],[0,0]].map(([a,l])=>{let c=[0,0,0];return c[e]=this.cutPlace(),c[r]=a?n[r].to:n[r].from,c[i]=l?n[i].to:n[i].from,c});t.lineWidth=1.5,t.strokeStyle=u.dark?
"#8fb0ff":"#2f5bd0",this.line(t,o)}paintOutline(t,e,n,r){t.lineJoin="round";let i=this.cells instanceof z?[this.surfaceOf(this.cells,e)]:this.cells instanceof G?this.cells.outline(e,u.apart):[],o=u.dark?
"rgba(0,0,0,0.7)":"rgba(255,255,255,0.8)";for(let[a,l]of[[2,o],[0,n]]){t.lineWidth=r+a,t.strokeStyle=l;for(let c of i)this.line(t,c)}}surfaceOf(t,e){let n=t.map(e),r=3*u.output,i=t.polygon(e).map(([o,
a])=>[(o-f.centre[0])/f.scale,(a-f.centre[1])/f.scale,this.height(n[r]*o+n[r+1]*a+n[r+2])]);return[...i,i[0]]}paintPoint(t,e,n){let r=e.map((a,l)=>(a-f.centre[l])/f.scale),[i,o]=this.at(r);t.fillStyle=
_([n[0],n[1],n[2]]),t.beginPath(),t.arc(i,o,3,0,2*Math.PI),t.fill(),t.stroke()}hit(t,e){let n=this.scene.ownerAt(t*$(),e*$(),this.options());if(n===0||!this.cells)return null;let r=n-1,i=E.ray(t,e,this.
canvas.clientWidth,this.canvas.clientHeight),o=this.cells instanceof G?this.cells.entry(r,E.eye,i,u.apart,this.plane()):this.onSurface(this.cells,r,i);return o&&{region:r,point:o}}onSurface(t,e,n){let r=t.
map(e).subarray(3*u.output),i=E.eye,o=(m,d)=>r[0]*(f.scale*m[0]+d*f.centre[0])+r[1]*(f.scale*m[1]+d*f.centre[1])+r[2]*d,a=2*At/(this.heights.high-this.heights.low||1),l=i[2]-this.height(o(i,1)),c=n[2]-
a*o(n,0),h=-l/c;return Number.isFinite(h)?[0,1].map(m=>f.centre[m]+f.scale*(i[m]+h*n[m])):null}};var rt=(s,t=0)=>String(Number((Math.abs(s)<1e-7*t?0:s).toPrecision(7))),$e=s=>s.map(t=>rt(t)).join(","),Y={parts:Zt(),camera:Jt(),layer:null};function Jt(){return[E.azimuth,E.elevation,E.distance]}function Zt(){
let s=t=>t?"1":"0";return{colour:u.colour,output:String(u.output+1),edges:u.edges,time:String(u.index+1),decision:s(u.decision),points:s(u.points),surface:s(u.surface),panel:s(u.panel),apart:rt(u.apart),
cut:u.cutAxis<0?"none":`${f.axes[u.cutAxis]},${rt(u.cutAt)}`,place:u.place?$e(u.place):"none"}}function Re(s){Y.layer=Et(s),Y.parts=Zt(),Y.camera=Jt()}function Fe(){return Et(new URLSearchParams(Y.parts).
toString()),[E.azimuth,E.elevation,E.distance]=Y.camera,Y.layer}function Be(){return Math.max(1,x("regions").clientWidth)}function Qt(s){let t=new URLSearchParams,e=Be()/g.zoom;f.inputs===2&&t.set("vi\
ew",[rt(g.x,e),rt(g.y,e),rt(e)].join(","));for(let[n,r]of Object.entries(Zt()))r!==Y.parts[n]&&t.set(n,r);return u.layer!==(Y.layer??s)&&t.set("layer",String(u.layer)),(u.surface||f.inputs===3)&&t.set(
"camera",$e(Jt())),t.toString().replaceAll("%2C",",")}function qt(s,t){let e=(s??"").split(",").map(Number);return s&&e.length===t&&e.every(Number.isFinite)?e:null}function Et(s){let t=new URLSearchParams(
s),e=(c,h)=>{let m=Number(t.get(c));return t.has(c)&&Number.isInteger(m)&&m>=1&&m<=h?m:null},n=(c,h)=>t.has(c)?t.get(c)==="1":h,r=(c,h,m)=>{let d=t.get(c);return d!==null&&h.includes(d)?d:m},i=qt(t.get(
"place"),f.inputs);u.colour=r("colour",["pattern","value","gradient","area","bends"],u.colour),u.edges=r("edges",["plain","layers","none"],u.edges),u.output=(e("output",f.pictures[0]?.outputs??1)??u.output+
1)-1,u.index=(e("time",Math.max(...f.panes.map(c=>c.length)))??u.index+1)-1,u.decision=n("decision",u.decision),u.points=n("points",u.points),u.surface=f.inputs===2&&n("surface",u.surface),u.place=t.get(
"place")==="none"?null:i??u.place,u.panel=n("panel",u.panel);let[o,a]=(t.get("cut")??"").split(",");f.axes.includes(o)&&Number(a)>=0&&Number(a)<=1&&f.inputs===3?(u.cutAxis=f.axes.indexOf(o),u.cutAt=Number(
a)):o==="none"&&(u.cutAxis=-1),u.apart=Math.min(1,Math.max(0,Number(t.get("apart")??u.apart)||0));let l=qt(t.get("camera"),3);return l&&([E.azimuth,E.elevation,E.distance]=l),e("layer",1e6)}function te(s){
let t=qt(new URLSearchParams(s).get("view"),3);return!t||!(t[2]>0)?!1:([g.x,g.y]=t,g.zoom=Be()/t[2],!0)}var Gn=`
.diagram { position: relative; width: 100%; height: 100%; touch-action: manipulation; }
.diagram canvas, .diagram svg { position: absolute; inset: 0; width: 100%; height: 100%; display: block; }
.diagram svg text { font: 11px/1 inherit; font-family: inherit; fill: var(--diagram-label, #667085); }
.diagram .neuron { fill: var(--diagram-neuron, #fff); stroke: var(--diagram-line, #98a2b3); stroke-width: 1.25; }
.diagram .neuron.on { fill: var(--diagram-on, #dd7829); stroke: var(--diagram-on, #dd7829); }
.diagram .neuron.middle { fill: var(--diagram-middle, #e9b98f); }
.diagram .neuron.off { fill: var(--diagram-off, #e4e7ec); }
.diagram .neuron.hidden { cursor: pointer; }
.diagram .neurons { outline: none; }
.diagram .said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.diagram .neuron:hover, .diagram .neuron.chosen { stroke: var(--diagram-strong, #101828); stroke-width: 2.5; }
.diagram .skip { fill: none; stroke: var(--diagram-skip, #7a5af8); stroke-width: 2; }
.diagram .skip.possible { stroke-width: 1.25; stroke-dasharray: 3 4; opacity: 0.38; }
.diagram .target { fill: none; stroke: transparent; stroke-width: 12; pointer-events: stroke; }
.diagram .clickable .target { cursor: pointer; }
.diagram .clickable:hover .skip { opacity: 1; stroke-width: 3; }
.diagram .clickable:focus-visible { outline: none; }
.diagram .clickable:focus-visible .skip { opacity: 1; stroke-width: 4; }
`,Ue="http://www.w3.org/2000/svg";var kt=class{constructor(t,e={}){this.events=e;if(!document.getElementById("diagram-style")){let n=document.createElement("style");n.id="diagram-style",n.textContent=Gn,document.head.append(n)}this.frame=
document.createElement("div"),this.frame.className="diagram",this.canvas=document.createElement("canvas"),this.svg=document.createElementNS(Ue,"svg"),this.svg.setAttribute("role","group"),this.neuronGroup.
setAttribute("aria-label",`Neurons: arrow keys point at one${e.onWeight?", Enter changes its largest weight":""}`),this.said.className="said",this.said.setAttribute("aria-live","polite"),this.svg.append(
this.arcGroup,this.neuronGroup,this.labelGroup),this.frame.append(this.canvas,this.svg,this.said),t.append(this.frame),this.observer=new ResizeObserver(()=>this.layout()),this.observer.observe(this.frame),
this.svg.addEventListener("click",n=>this.clicked(n)),this.svg.addEventListener("pointermove",n=>this.moved(n)),this.svg.addEventListener("pointerdown",n=>this.moved(n)),this.svg.addEventListener("poi\
nterleave",n=>{n.pointerType!=="touch"&&this.events.onNeuron?.(null)}),this.neuronGroup.addEventListener("keydown",n=>this.pressed(n)),this.neuronGroup.addEventListener("focus",()=>{this.neuronGroup.matches(
":focus-visible")&&this.pointAt(this.place??{layer:1,index:0})}),this.neuronGroup.addEventListener("blur",()=>{this.choose(null),this.events.onNeuron?.(null)})}events;frame;canvas;svg;observer;network={
widths:[],skips:[]};blocks=[];arcGroup=H("g",{});neuronGroup=H("g",{class:"neurons",tabindex:0,role:"application"});place=null;said=document.createElement("div");labelGroup=H("g",{});neurons=[];lines=[];pattern={
pieces:null};size=[0,0];top=14;due=0;setNetwork(t){this.network=t;let e=t.skips.map(([r,i])=>`${r}→${i}`).join(", "),n=`Network ${t.widths.join(" → ")}${e?`, skips ${e}`:""}`;this.svg.setAttribute(
"aria-label",n),this.layout()}setSkips(t){this.setNetwork({...this.network,skips:t})}setWeights(t){this.blocks=t,this.lines.length||this.drawWeights(),this.due||(this.due=window.setTimeout(()=>this.drawWeights(),
100))}setPattern(t,e){this.pattern={pieces:t,counts:e};let n=0;for(let r=1;r<this.neurons.length-1;r++)for(let i of this.neurons[r]){let o=t?.[n]??0,a=(e?.[n]??2)-1;i.classList.toggle("on",t!==null&&o>
0&&o>=a),i.classList.toggle("middle",t!==null&&o>0&&o<a),i.classList.toggle("off",t!==null&&o===0),n++}}setLabelColours(t){this.network={...this.network,colours:t},[...this.svg.querySelectorAll(".labe\
l")].forEach((e,n)=>{e.style.fill=t[n]?`color-mix(in oklab, ${t[n]} 88%, var(--diagram-strong))`:"",e.style.fontWeight=t[n]?"600":""})}choose(t){for(let e of this.svg.querySelectorAll(".chosen"))e.classList.
remove("chosen");t&&this.neurons[t.layer]?.[t.index]?.classList.add("chosen")}refresh(){this.drawWeights()}destroy(){this.observer.disconnect(),window.clearTimeout(this.due),this.frame.remove()}arcs(){
let{skips:t,possible:e}=this.network,n=new Set(t.map(String));return[...this.events.onSkip?(e??[]).filter(i=>!n.has(String(i))):[],...t].sort((i,o)=>o[1]-o[0]-(i[1]-i[0])||i[0]-o[0]).map(i=>({skip:i,on:n.
has(String(i))}))}room(){let t=this.arcs().map(({skip:e})=>e[1]-e[0]);return t.length?Math.min(18+13*Math.max(...t),.42*this.size[1]):14}x(t){let e=Math.max(1,this.network.widths.length-1);return 22+t/
e*(this.size[0]-44)}y(t,e){let n=this.network.widths[t],{top:r}=this,i=this.size[1]-(this.network.labels?26:12),o=Math.min(30,(i-r)/Math.max(1,n));return(r+i)/2+(e-(n-1)/2)*o}radius(t){let e=(this.size[1]-
this.top-20)/Math.max(1,this.network.widths[t]);return Math.max(1.5,Math.min(8,.38*e,(this.size[0]-44)/(4*this.network.widths.length)))}layout(){if(this.size=[this.frame.clientWidth,this.frame.clientHeight],
!this.size[0]||!this.network.widths.length)return;let[t,e]=this.size;this.top=this.room(),this.svg.setAttribute("viewBox",`0 0 ${t} ${e}`),this.drawArcs(),this.drawNeurons();let n=this.network.labels??
[];ee(this.labelGroup,n.length,()=>H("text",{"text-anchor":"middle",class:"label"})).forEach((r,i)=>{st(r,{x:this.x(i),y:e-6}),r.textContent=n[i]}),this.setLabelColours(this.network.colours??[]),this.
setPattern(this.pattern.pieces,this.pattern.counts),this.drawWeights()}drawArcs(){let t=new Map([...this.arcGroup.children].map(n=>[n.getAttribute("data-skip"),n])),e=null;for(let{skip:n,on:r}of this.
arcs()){let i=n.join("-"),o=t.get(i)??this.arc(n);t.delete(i),this.placeArc(o,n,r),o.parentNode||(e?e.after(o):this.arcGroup.prepend(o)),e=o}for(let n of t.values())n.remove()}placeArc(t,[e,n],r){let[
i,o]=[this.x(e),this.x(n)],a=this.top-6,l=Math.max(4,a-Math.min(13*(n-e),a-4)),c=`M${i} ${a} C${i+.12*(o-i)} ${l} ${o-.12*(o-i)} ${l} ${o} ${a}`,[h,m,d]=t.children;h.textContent=`skip ${e}→${n}${this.
events.onSkip?r?": click to remove":": click to add":""}`,st(m,{d:c,class:`skip ${r?"":"possible"}`}),st(d,{d:c}),this.events.onSkip&&t.setAttribute("aria-checked",String(r))}arc([t,e]){let n=H("g",{"\
data-skip":`${t}-${e}`});if(n.append(H("title",{}),H("path",{}),H("path",{class:"target"})),this.events.onSkip){st(n,{class:"clickable",tabindex:0,role:"switch","aria-label":`skip ${t}→${e}`});let r=()=>this.
events.onSkip?.([t,e]);n.addEventListener("click",i=>{i.stopPropagation(),r()}),n.addEventListener("keydown",i=>{(i.key==="Enter"||i.key===" ")&&(i.preventDefault(),r())})}return n}drawNeurons(){let{widths:t}=this.
network,e=ee(this.neuronGroup,t.length,()=>H("g",{}));this.neurons=t.map((n,r)=>{let i=r>0&&r<t.length-1,o=ee(e[r],n,()=>H("circle",{}));return o.forEach((a,l)=>{let[c,h,m]=[this.x(r),this.y(r,l),this.
radius(r)];st(a,{cx:c,cy:h,r:m,"data-layer":r,"data-index":l}),a.classList.add("neuron"),a.classList.toggle("hidden",i),i||a.classList.remove("on","middle","off")}),o})}drawWeights(){this.due=0;let[t,
e]=this.size,n=window.devicePixelRatio||1;this.canvas.width=Math.round(t*n),this.canvas.height=Math.round(e*n);let r=this.canvas.getContext("2d");if(!r||!t)return;r.scale(n,n);let i=getComputedStyle(this.
frame),o=[i.getPropertyValue("--diagram-negative").trim()||"#2f6db4",i.getPropertyValue("--diagram-positive").trim()||"#dd7829"];this.lines=this.visible();let a=Math.max(1e-12,...this.blocks.map(Hn)),
l=Array.from({length:20},()=>new Path2D);for(let c of this.lines){let h=Math.min(9,Math.floor(10*Math.abs(c.value)/a)),m=l[2*h+(c.value>0?1:0)];m.moveTo(c.x,c.y),m.lineTo(c.x2,c.y2)}l.forEach((c,h)=>{
let m=(Math.floor(h/2)+.5)/10;r.globalAlpha=.12+.88*m,r.lineWidth=.4+2.6*m,r.strokeStyle=o[h%2],r.stroke(c)})}visible(){let t=this.blocks.filter(i=>i.from===i.to-1),e=t.reduce((i,o)=>i+o.rows*o.columns,
0),n=0;e>1500&&(n=t.flatMap(o=>Ie(o).map(Math.abs)).sort((o,a)=>a-o)[1500]);let r=[];for(let{from:i,to:o,rows:a,columns:l,values:c,stride:h=l}of t)if(!(a>this.network.widths[o]||l>this.network.widths[i]))
for(let m=0;m<a;m++)for(let d=0;d<l;d++){let p=c[m*h+d];p===0||Math.abs(p)<n||r.push({from:i,to:o,row:m,column:d,value:p,x:this.x(i),y:this.y(i,d),x2:this.x(o),y2:this.y(o,m)})}return r}moved(t){let e=t.
target.dataset,n=Number(e.layer),r=n>0&&n<this.network.widths.length-1;this.events.onNeuron?.(r?{layer:n,index:Number(e.index)}:null),this.events.onWeight&&(this.svg.style.cursor=this.lineAt(t)?"point\
er":"")}pressed(t){let n={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]}[t.key],{layer:r,index:i}=this.place??{layer:1,index:0};n?(t.preventDefault(),this.pointAt({layer:r+n[0],index:i+
n[1]})):t.key==="Enter"&&this.events.onWeight&&(t.preventDefault(),this.changeLargest(r,i))}pointAt({layer:t,index:e}){let{widths:n}=this.network,r=n.length-1,i=(a,l)=>Math.max(0,Math.min(l,a)),o=1+i(
t-1,this.events.onWeight?r-1:r-2);o>=n.length||r<1||(this.place={layer:o,index:i(e,n[o]-1)},this.choose(this.place),this.events.onNeuron?.(o<r?this.place:null),this.said.textContent=o<r?`layer ${o}, n\
euron ${this.place.index}`:`output ${this.place.index+1}`)}changeLargest(t,e){let r=this.lines.filter(o=>o.to===t&&o.row===e).reduce((o,a)=>o&&Math.abs(o.value)>=Math.abs(a.value)?o:a,null);if(!r)return;
let i=this.svg.getBoundingClientRect();this.events.onWeight?.({...r,keys:!0,x:i.left+(r.x+r.x2)/2,y:i.top+(r.y+r.y2)/2})}clicked(t){let e=this.events.onWeight&&this.lineAt(t);e&&this.events.onWeight?.(
{...e,x:t.clientX,y:t.clientY})}lineAt(t){let e=this.svg.getBoundingClientRect(),[n,r]=[t.clientX-e.left,t.clientY-e.top],i=null,o=5;for(let a of this.lines){let l=(n-a.x)/(a.x2-a.x);if(l<.06||l>.94)continue;
let c=(a.y2-a.y)/(a.x2-a.x),h=Math.abs(a.y+l*(a.y2-a.y)-r)/Math.hypot(1,c);h<o&&([o,i]=[h,a])}return i}};function H(s,t){let e=document.createElementNS(Ue,s);return st(e,t),e}function st(s,t){for(let[
e,n]of Object.entries(t))s.setAttribute(e,String(n))}function ee(s,t,e){for(;s.children.length>t;)s.lastElementChild.remove();for(;s.children.length<t;)s.append(e());return[...s.children]}function Ie(s){
let{rows:t,columns:e,values:n,stride:r=e}=s;return Array.from({length:t*e},(i,o)=>n[Math.floor(o/e)*r+o%e])}function Hn(s){return Ie(s).reduce((t,e)=>Math.max(t,Math.abs(e)),0)}var Vn=40,jn=14,Yn=2e4;function Xn(s){if(!s?.depth)return!1;let{widths:t,outputs:e}=s.network;return t.length<=jn&&Math.max(...t,e)<=Vn}function Kn(s){let t=[];return s.layers.forEach((e,n)=>{let r=e.
bias.length;for(let{source:i,sparse:o,columns:a,data:l,index:c,ends:h}of e.terms){if(i!==n||a>Yn)continue;let m=o?new Float64Array(r*a):l;for(let d=0;o&&d<r;d++)for(let p=d?h[d-1]:0;p<h[d];p++)m[d*a+c[p]]=
l[p];n===0&&s.embedding.length!==s.inputs*(s.inputs+1)?t.push(qn(s,m,r,a)):t.push({from:i,to:n+1,rows:r,columns:a,values:m})}}),t}function qn(s,t,e,n){let{embedding:r,inputs:i}=s,o=new Float64Array(e*
i);for(let a=0;a<e;a++)for(let l=0;l<n;l++){let c=t[a*n+l];for(let h=0;h<i;h++)o[a*i+h]+=c*r[l*(i+1)+h]}return{from:0,to:1,rows:e,columns:i,values:o}}var Mt=class{constructor(t,e,n){this.box=t;for(let r=0;r<
e;r++){let i=v("div",void 0,"diagram-host");t.append(i),this.hosts.push(i),this.diagrams.push(new kt(i,{onNeuron:o=>{JSON.stringify(o)!==JSON.stringify(u.neuron)&&(u.neuron=o,n())}}))}}box;diagrams=[];hosts=[];shown=[];show(t,e,n){
let r=Xn(e);if(this.hosts[t].hidden=!r,this.box.hidden=this.hosts.every(l=>l.hidden),!r)return;let{network:i}=e,o=this.diagrams[t];if(this.shown[t]!==e){this.shown[t]=e;let l=i.layers.flatMap((c,h)=>c.
terms.filter(m=>m.source<h).map(m=>[m.source,h+1]));o.setNetwork({widths:[e.inputs,...i.widths,i.outputs],skips:l}),o.setWeights(Kn(i))}let a=i.layers.slice(0,-1).flatMap((l,c)=>Array.from({length:i.widths[c]},
()=>l.slopes.length/i.widths[c]));o.setPattern(n,a)}refresh(){for(let t of this.diagrams)t.refresh()}};function Oe(s,t,e){let{image:n}=f;if(!n)return!1;let{height:r,width:i,channels:o,low:a,high:l}=n,c=t.inputsAt(e);if(c.length!==r*i*o)return!1;[s.width,s.height]=[i,r];let h=new ImageData(i,r);for(let m=0;m<
r*i;m++){for(let d=0;d<3;d++){let p=c[o===3?d*r*i+m:m];h.data[4*m+d]=Math.round(255*(p-a)/(l-a||1))}h.data[4*m+3]=255}return s.getContext("2d").putImageData(h,0,0),!0}var ht="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";function X(){return u.dark?{line:"#565a68",text:"#a9adba",strong:"#e8e8ee"}:{line:"#a3a5ad",text:"#595d69",strong:"#1d1e26"}}function ne(s){
let[t,e]=[s.clientWidth,s.clientHeight].map(r=>Math.round(r*$()));(s.width!==t||s.height!==e)&&Object.assign(s,{width:t,height:e});let n=s.getContext("2d");return n.setTransform($(),0,0,$(),0,0),n.clearRect(
0,0,s.clientWidth,s.clientHeight),n}function _e(s,t,e,n){let r=ct(t,e),i=Math.abs(t)>1e3*e?r.length-2:1;for(let o=0;o<i;o++){let a=o?`…${r.slice(o)}`:r;if(s.measureText(a).width<n)return a}return""}
function Pt(s,t,e){let[n,r]=[g.x-t/2/g.zoom,g.x+t/2/g.zoom],{values:i,step:o}=lt(n,r,Math.max(2,t/85));s.font=ht,s.textBaseline="top",s.fillStyle=X().text,s.strokeStyle=X().line,s.beginPath();for(let a of i){
let l=t/2+(a-g.x)*g.zoom;s.moveTo(l,0),s.lineTo(l,5);let c=_e(s,a,o,80),h=s.measureText(c).width/2;s.textAlign="center",c&&l+h<t-22&&s.fillText(c,Math.max(l,h),8)}s.stroke(),s.textAlign="right",s.font=
`600 ${ht}`,s.fillStyle=X().strong,s.fillText(f.axes[0],t-2,Math.min(8,e-12))}function Tt(s,t,e){let[n,r]=[g.y-e/2/g.zoom,g.y+e/2/g.zoom],{values:i,step:o}=lt(n,r,Math.max(2,e/60));s.font=ht,s.textBaseline=
"middle",s.textAlign="right",s.fillStyle=X().text,s.strokeStyle=X().line,s.beginPath();for(let a of i){let l=e/2-(a-g.y)*g.zoom;s.moveTo(t,l),s.lineTo(t-5,l);let c=l>24?t:t-8-s.measureText(f.axes[1]).
width,h=_e(s,a,o,t-8);!h||s.measureText(h).width+8>=c||s.fillText(h,t-8,Math.max(6,Math.min(e-6,l)))}s.stroke(),s.font=`600 ${ht}`,s.fillStyle=X().strong,s.textAlign="left",s.fillText(f.axes[1],2,9)}function Lt(s,t,e){
let n=120/g.zoom,r=10**Math.floor(Math.log10(n)),i=r*(n>=5*r?5:n>=2*r?2:1),o=i*g.zoom,[a,l]=[t-16,e-16],c=ct(i,i/2);s.font=`600 ${ht}`,s.textAlign="center",s.textBaseline="bottom",s.lineCap="butt";let h=u.
dark?"rgba(20,21,26,0.85)":"rgba(255,255,255,0.9)";for(let[m,d]of[[3,h],[0,X().strong]])s.strokeStyle=d,s.lineWidth=2+m,s.beginPath(),s.moveTo(a-o,l-5),s.lineTo(a-o,l),s.lineTo(a,l),s.lineTo(a,l-5),s.
stroke(),s.lineWidth=m,m&&s.strokeText(c,a-o/2,l-5);s.fillStyle=X().strong,s.fillText(c,a-o/2,l-5)}var De=()=>u.dark?"rgba(0,0,0,0.75)":"rgba(255,255,255,0.9)",it=()=>u.dark?"#ffffff":"#101018",se=()=>u.dark?"#ffc760":"#d97706",ie=()=>u.dark?"#ff79d2":"#c9108f",Jn=()=>u.dark?"#7ee7d8":"#0f766e";function re(s,t,e,n,r){
s.beginPath();for(let i of t.picture.polygon(e))s.lineTo(...t.toScreen(i));s.closePath(),s.lineJoin="round",s.lineWidth=r+2.5,s.strokeStyle=De(),s.stroke(),s.lineWidth=r,s.strokeStyle=n,s.stroke()}function Ct(s,t){
if(t.pinned>=0){for(let e of t.picture.neighbours(t.pinned))re(s,t,e,se(),1.5);re(s,t,t.pinned,it(),3)}t.hovered>=0&&t.hovered!==t.pinned&&re(s,t,t.hovered,it(),1.5),u.marked&&Zn(s,...t.toScreen(u.marked))}
function Zn(s,t,e){s.lineWidth=2,s.strokeStyle=it(),s.beginPath();for(let[n,r]of[[1,0],[-1,0],[0,1],[0,-1]])s.moveTo(t+3*n,e+3*r),s.lineTo(t+9*n,e+9*r);s.stroke()}function We(s,t,e,n,r){s.beginPath();
for(let i=0;i<e.length;i+=4)s.moveTo(...t.toScreen([e[i],e[i+1]])),s.lineTo(...t.toScreen([e[i+2],e[i+3]]));s.lineCap="round",s.lineWidth=r+2,s.strokeStyle=De(),s.stroke(),s.lineWidth=r,s.strokeStyle=
n,s.stroke()}function Nt(s,t){u.decision&&We(s,t,t.picture.decisionBoundary,ie(),2.5)}function $t(s,t){let{neuron:e}=u;!e||e.layer>t.picture.depth||We(s,t,t.picture.boundaryOf(e.layer,e.index),Jn(),2.5)}
function Rt(s,t){u.points&&(s.strokeStyle=u.dark?"#14151a":"#ffffff",s.lineWidth=1,f.points.forEach((e,n)=>{let[r,i]=t.toScreen(e);r<-5||i<-5||r>t.canvas.clientWidth+5||i>t.canvas.clientHeight+5||(s.fillStyle=
f.pointLabels.length?_(ut(f.pointLabels[n])):it(),s.beginPath(),s.arc(r,i,f.pointLabels.length?3.5:3,0,2*Math.PI),s.fill(),s.stroke())}))}function ze(s,t){f.inputs===3&&u.points&&(s.strokeStyle=u.dark?
"#14151a":"#ffffff",s.lineWidth=1,f.points.forEach((e,n)=>{let r=f.pointLabels.length?f.pointLabels[n]:0;t.space.paintPoint(s,e,ut(r))})),t.pinned>=0&&t.space.paintOutline(s,t.pinned,it(),2.5),t.hovered>=
0&&t.hovered!==t.pinned&&t.space.paintOutline(s,t.hovered,it(),1)}var Qn=25;function M(){return f.inputs===3||u.surface}var Ft=class{constructor(t){this.number=t;this.stage.append(this.under,this.sheet,this.spaceCanvas,this.canvas,this.tooltip),this.figure.append(this.
caption,this.axisY,this.stage,this.axisX),this.canvas.tabIndex=0,this.canvas.setAttribute("role","img"),this.canvas.setAttribute("aria-describedby","keys"),this.canvas.setAttribute("aria-label",`Linea\
r regions of a network ${f.inputs===3?"in space":"in the plane"}`);for(let e of[this.under,this.sheet,this.spaceCanvas,this.axisX,this.axisY,this.tooltip])e.setAttribute("aria-hidden","true");t===0&&([
this.canvas.id,this.sheet.id,this.stage.id]=["regions","sheet","stage"])}number;figure=v("figure",void 0,"pane");caption=v("figcaption");stage=v("div",void 0,"stage");canvas=v("canvas",void 0,"top");sheet=v(
"canvas",void 0,"sheet");under=v("canvas",void 0,"under");spaceCanvas=v("canvas",void 0,"space");axisX=v("canvas",void 0,"axis-x");axisY=v("canvas",void 0,"axis-y");tooltip=v("div",void 0,"tooltip");painter=null;ownSpace=null;cells=null;hovered=-1;pinned=-1;over=null;shades={
low:0,high:1};drawn={x:0,y:0,zoom:0,cost:0,stale:!0,timer:0};get picture(){return this.cells instanceof z?this.cells:null}get space(){return this.ownSpace||(this.ownSpace=new St(this.spaceCanvas,this.
under),this.ownSpace.show(this.cells)),this.ownSpace}show(t){this.cells=t,this.hovered=-1,this.ownSpace?.show(t),t instanceof z&&(this.painter??=new vt(this.sheet),this.painter.show(t)),this.pinned=u.
place&&t?t.locate(u.place):-1}shade(){return this.cells instanceof G?this.shades=this.space.showCells():this.picture&&(this.shades=this.picture.shades(u.colour,u)),this.shades}colour(t,e,n){Object.assign(
this.shades,{low:t,high:e}),this.picture?(this.painter.shade(this.shades),u.surface&&n&&this.space.showSurface(this.shades,n)):this.cells&&this.space.setRange(t,e),this.drawn.stale=!0}resize(){let[t,e]=[
this.canvas.clientWidth,this.canvas.clientHeight];for(let n of[this.canvas,this.sheet,this.under,this.spaceCanvas])n.width=Math.max(1,Math.round(t*$())),n.height=Math.max(1,Math.round(e*$()));this.drawn.
stale=!0}paint(){let t=M();this.figure.classList.toggle("in-space",t);let e=this.canvas.getContext("2d");if(e.setTransform($(),0,0,$(),0,0),e.clearRect(0,0,this.canvas.width,this.canvas.height),t){this.
space.paint(e),ze(e,this);return}this.picture&&(this.paintSheetIfNeeded(),Nt(e,this),$t(e,this),Rt(e,this),Ct(e,this),Lt(e,this.canvas.clientWidth,this.canvas.clientHeight),Pt(ne(this.axisX),this.axisX.
clientWidth,this.axisX.clientHeight),Tt(ne(this.axisY),this.axisY.clientWidth,this.axisY.clientHeight))}paintSheetIfNeeded(){let{drawn:t}=this,e=g.x!==t.x||g.y!==t.y||g.zoom!==t.zoom;t.stale||e&&t.cost<
Qn?this.paintSheet():e&&this.moveSheet()}paintSheet(){if(M()){this.paint();return}let{drawn:t}=this;clearTimeout(t.timer),t.timer=0;let e={...g,zoom:g.zoom*$()},n={...u,background:tr()};this.painter.measure(
e,n,r=>{t.cost=r}),Object.assign(t,g,{stale:!1}),this.sheet.style.transform=""}moveSheet(){let{drawn:t}=this,e=g.zoom/t.zoom,n=(t.x-g.x)*g.zoom,r=(g.y-t.y)*g.zoom;this.sheet.style.transform=`translate\
(${n}px, ${r}px) scale(${e})`,clearTimeout(t.timer),t.timer=window.setTimeout(()=>this.paintSheet(),150)}layers(){return M()?[this.under,this.spaceCanvas,this.canvas]:[this.sheet,this.canvas]}toScreen([
t,e]){return[this.canvas.clientWidth/2+(t-g.x)*g.zoom,this.canvas.clientHeight/2-(e-g.y)*g.zoom]}toPlane(t,e){return[g.x+(t-this.canvas.clientWidth/2)/g.zoom,g.y-(e-this.canvas.clientHeight/2)/g.zoom]}at(t,e){
if(!this.cells)return{region:-1,point:null};if(M())return this.space.hit(t,e)??{region:-1,point:null};let n=this.toPlane(t,e);return{region:this.cells.locate(n),point:n}}tell(t,e){let{cells:n,hovered:r,
over:i}=this;if(!n||r<0||!i){this.quiet();return}let o=M()?f.scale/200:1/g.zoom,a=i.map(d=>at(d,o)).join(", ");this.tooltip.replaceChildren(v("b",`Region ${r.toLocaleString("en")}`),v("span",this.valueText(
r,i)),v("small",`(${a})`)),this.tooltip.classList.add("shown");let[l,c]=[this.tooltip.offsetWidth,this.tooltip.offsetHeight],h=t+16+l>this.canvas.clientWidth?t-14-l:t+16,m=e+18+c>this.canvas.clientHeight?
e-14-c:e+18;this.tooltip.style.transform=`translate(${Math.max(2,h)}px, ${Math.max(2,m)}px)`}quiet(){this.tooltip.classList.remove("shown")}valueText(t,e){let n=this.cells,r=n.map(t),i=n.inputs+1,o=c=>{
let h=r.subarray(c*i,(c+1)*i);return e.reduce((m,d,p)=>m+d*h[p],h[i-1])};if(u.colour==="area")return`${f.inputs===3?"volume":"area"} ${O(n.areas[t],4)}`;if(u.colour==="value"||u.colour==="gradient"||n.
about.outputs===1||u.surface)return`y${u.output+1} = ${O(o(u.output),4,.001)}`;let l=0;for(let c=1;c<n.about.outputs;c++)o(c)>o(l)&&(l=c);return`largest: y${l+1} = ${O(o(l),4,.001)}`}};function tr(){let s=getComputedStyle(
document.documentElement).getPropertyValue("--back").trim(),t=e=>parseInt(s.slice(e,e+2),16);return[t(1),t(3),t(5)]}function Ge(s,t){let{canvas:e}=s,n=new Map,r=0,i=c=>{let h=e.getBoundingClientRect();return[c.clientX-h.left,c.clientY-h.top]},o=(c,h)=>{M()?t.turn(c,h):t.move(-c/g.zoom,h/g.zoom)};e.addEventListener(
"pointerdown",c=>{e.setPointerCapture(c.pointerId),n.size===0&&(r=0),n.set(c.pointerId,i(c))}),e.addEventListener("pointermove",c=>{let h=i(c),m=n.get(c.pointerId);if(!m){t.hover(s,...h,c.pointerType!==
"touch");return}s.quiet(),r+=Math.hypot(h[0]-m[0],h[1]-m[1]);let d=[...n].find(([p])=>p!==c.pointerId)?.[1];if(d){let p=y=>Math.hypot(y[0]-d[0],y[1]-d[1]),b=[(h[0]+d[0])/2,(h[1]+d[1])/2];t.zoomAt(s,...b,
p(h)/Math.max(1,p(m))),o((h[0]-m[0])/2,(h[1]-m[1])/2)}else r>4&&o(h[0]-m[0],h[1]-m[1]);n.set(c.pointerId,h)});let a=c=>{let h=n.size===1&&r<=4&&c.type==="pointerup";if(n.delete(c.pointerId),!h)return;
let{region:m,point:d}=s.at(...i(c));t.pin(m<0||m===s.pinned?null:d)};e.addEventListener("pointerup",a),e.addEventListener("pointercancel",a),e.addEventListener("pointerleave",t.leave);let l=window.parent===
window;e.addEventListener("pointerdown",()=>{l=!0}),e.addEventListener("pointerleave",()=>{l=window.parent===window}),e.addEventListener("wheel",c=>{if(!l&&!c.ctrlKey)return;c.preventDefault();let h=c.
deltaMode===1?20:1;t.zoomAt(s,...i(c),Math.exp(-.0018*h*c.deltaY))},{passive:!1})}function He(s,t){let{canvas:e}=s,n=()=>[e.clientWidth/2,e.clientHeight/2],r=(o,a)=>{M()?t.turn(-24*o,24*a):t.move(60*o/
g.zoom,60*a/g.zoom)},i={ArrowLeft:()=>r(-1,0),ArrowRight:()=>r(1,0),ArrowUp:()=>r(0,1),ArrowDown:()=>r(0,-1),"+":()=>t.zoomAt(s,...n(),1.25),"=":()=>t.zoomAt(s,...n(),1.25),"-":()=>t.zoomAt(s,...n(),.8),
0:t.home,Enter:()=>t.pin(s.at(...n()).point)};e.addEventListener("keydown",o=>{let a=i[o.key];!a||o.ctrlKey||o.metaKey||o.altKey||(o.preventDefault(),a(),t.hover(s,...n(),!1),u.marked=[g.x,g.y])}),e.addEventListener(
"blur",()=>{u.marked=null,t.redraw()})}function Bt(s,t,e){return{shape:e,colours:[s],text:t}}function oe(s,t){let e=Math.max(Math.abs(t.low),Math.abs(t.high)),n=r=>t.logarithmic?O(10**r,3):O(r,3,e);return{title:s,ramp:[t.low,(t.low+t.high)/
2,t.high].map(n),items:[]}}function Ye(s,t,e,n,r){let i=[];for(let o=r;o<=e;o++)i.push(Bt(_(W(o,t,u.dark)),o===0?"domain":`layer ${o}`,n));return{title:s,items:i}}function er(s,t){let e=s.about.outputs>
1?` of y${u.output+1}`:"";if(u.colour==="value")return oe(`value${e}`,t);if(u.colour==="gradient")return oe(`gradient norm${e}`,t);if(u.colour==="area")return oe(f.inputs===3?"volume (log)":"area (log\
)",t);if(u.colour==="bends")return Ye("first bend",s.depth,s.depth,"box",0);let n=ft(u.dark);return{title:"pattern",items:[{shape:"box",colours:[0,9,18,27,36].map(i=>_([n[4*i],n[4*i+1],n[4*i+2]])),text:"\
a colour for every pattern"}]}}function Xe(s,t,e){let n=[];if(s&&n.push(er(s,t)),s&&u.edges==="layers"&&s.depth>1&&n.push(Ye("edges",s.depth,u.layer,"line",1)),f.labelNames.length&&u.points&&!u.surface){
let i=o=>o.replace(/^-(?=\d)/,"−");n.push({title:"points",items:f.labelNames.map((o,a)=>Bt(_(ut(a)),i(o),"dot"))})}let r=[];return u.decision&&!M()&&r.push(Bt(ie(),"decision boundary","line")),e&&!M()&&
r.push(Bt(se(),"neighbours","line")),r.length&&n.push({title:"",items:r}),n}function nr(s){let t=v("canvas",void 0,"ramp");[t.width,t.height]=[256,1],t.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(
j()),256,1),0,0);let e=v("span",void 0,"numbers");e.append(...s.map(r=>v("span",r)));let n=v("span",void 0,"scale");return n.append(t,e),n}function rr({shape:s,colours:t,text:e}){let n=v("span",void 0,
"item");for(let r of t){let i=v("i",void 0,s);i.style.setProperty("--colour",r),n.append(i)}return n.append(e),n}function Ke(s){x("key").replaceChildren(...s.map(({title:t,ramp:e,items:n})=>{let r=v("\
div",void 0,"group");return t&&r.append(v("span",t,"name")),e&&r.append(nr(e)),r.append(...n.map(rr)),r}))}var ae="12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",Ve=30,mt=160;function le(s,t,e,n,r,i=!0){
let[o,a]=u.dark?["#e8e8ee","#9b9eab"]:["#1d1e26","#62646f"],[l,c]=[0,0],h=d=>{l>0&&l+d>r&&([l,c]=[0,c+Ve])},m=(d,p)=>{s.fillStyle=p,i&&s.fillText(d,e+l,n+c+10),l+=s.measureText(d).width};s.font=ae,s.textBaseline=
"middle",s.textAlign="left";for(let{title:d,ramp:p,items:b}of t){let y=p?mt:b.length?je(s,b[0]):0;h(s.measureText(d).width+10+y),d&&(m(d,a),l+=10),p&&(l=Math.ceil(l),i&&ir(s,p,e+l,n+c,o),l+=mt+10);for(let w of b){
h(je(s,w));for(let k of w.colours)i&&sr(s,w.shape,k,e+l,n+c+10),l+=qe(w.shape);l+=3,m(w.text,o),l+=10}l+=10}return t.length?c+Ve:0}function qe(s){return s==="line"?20:s==="box"?15:12}function je(s,{shape:t,
colours:e,text:n}){return e.length*qe(t)+3+s.measureText(n).width}function sr(s,t,e,n,r){s.fillStyle=e,t==="line"?s.fillRect(n,r-1.5,18,3):t==="box"?s.fillRect(n,r-6,12,12):(s.beginPath(),s.arc(n+4.5,
r,4.5,0,2*Math.PI),s.fill())}function ir(s,t,e,n,r){let i=j();for(let o=0;o<mt;o+=2){let a=4*Math.round(255*o/(mt-2));s.fillStyle=_([i[a],i[a+1],i[a+2]]),s.fillRect(e+o,n+2,2,9)}s.font=ae.replace("12p\
x","11px"),s.fillStyle=r,t.forEach((o,a)=>{s.textAlign=["left","center","right"][a],s.fillText(o,e+mt*a/2,n+18)}),s.font=ae,s.textAlign="left"}var ot=7,ce=60;function or(s,t,e){let n=s.subarray((e+1)*t,(e+1)*(t+1)),r=Math.max(...n.map(Math.abs)),i="";return n.forEach((o,a)=>{let l=O(Math.abs(o),4,r);if(l==="0")return;let c=a<e?l==="1"?f.axes[a]:
`${l} ${f.axes[a]}`:l;i+=i?o<0?` − ${c}`:` + ${c}`:o<0?`−${c}`:c}),`y${t+1} = ${i||"0"}`}function Ut(s,t){let e=s.names[t-1];return e?`layer ${t} (${e})`:`layer ${t}`}function ue(s,t,...e){s.append(
v("dt",t));let n=v("dd");n.append(...e),s.append(n)}var Je=new WeakMap;function Ze(s,t,e,n){let r=[t,e,n.pinned,u.layer,u.dark];if(Je.get(s)?.every((l,c)=>l===r[c]))return;Je.set(s,r);let i=s.contains(
document.activeElement)?document.activeElement.getAttribute("aria-label"):null;if(ar(s,t,e,n),i===null)return;([...s.querySelectorAll("button, .pattern")].find(l=>l.getAttribute("aria-label")===i)??s.
querySelector(".facets button"))?.focus()}function ar(s,t,e,{pinned:n,name:r,choose:i}){let o=s.querySelector(".pattern")?.scrollTop??0;if(s.replaceChildren(),r&&s.append(v("h3",r,"whose")),e<0){let b=r?
"No region here.":"Move over the picture, or type a point or a pattern above.";s.append(v("p",b,"hint"));return}let{about:a}=t,l=v("h2",`Region ${e.toLocaleString("en")}`);n&&l.append(v("span","pinned",
"badge")),s.append(l);let c=v("dl"),h=t.map(e),m=Math.min(a.outputs,12),d=b=>or(h,b,t.inputs),p=Array.from({length:m},(b,y)=>v("div",d(y),"formula"));if(a.outputs>m&&p.push(v("div",`… and ${a.outputs-
m} more`)),ue(c,"map",...p),ue(c,t.inputs===3?"volume":"area",O(t.areas[e],5)),ue(c,"neighbours",String(t.neighbours(e).length)),s.append(c),t.depth){let b=cr(t,e);s.append(lr(t,e),b),b.scrollTop=o}s.
append(v("h3","Facets"),hr(t,e,i))}function lr(s,t){let e=v("h3","Pattern"),n=v("button","Copy","small");return n.type="button",n.setAttribute("aria-label","copy the pattern"),n.addEventListener("clic\
k",()=>{let r=s.pattern(t),i=s.network.widths.map((o,a)=>Qe(r,s.network.starts[a],o)).join("|");navigator.clipboard?.writeText(i).then(()=>{n.textContent="Copied"},()=>{})}),e.append(n),e}function Qe(s,t,e){
return Array.from(s.subarray(t,t+e),n=>n.toString(36)).join("")}function cr(s,t){let e=s.pattern(t),n=v("div",void 0,"pattern");n.tabIndex=0,n.setAttribute("role","group"),n.setAttribute("aria-label",
"the pattern, layer by layer");for(let r=0;r<s.depth;r++){let i=s.network.starts[r],o=s.network.widths[r],a=e.subarray(i,i+o),l=v("div",void 0,r<u.layer?"":"later"),c=s.network.layers[r].slopes.length/
o,h=a.reduce((d,p)=>d+(p>0?1:0),0);l.append(v("span",Ut(s.about,r+1),"name"));let m=v("span",c===2?`${h} of ${o}`:`${c} pieces`,"count");c===2&&(m.title=`${h} of ${o} neurons are active`),l.append(ur(
a,c),m,v("code",Qe(e,i,o),"spoken")),n.append(l)}return n}function ur(s,t){let e=v("canvas",void 0,"boxes"),n=Math.min(s.length,36),r=Math.ceil(s.length/n);[e.width,e.height]=[2*n*(ot+1),2*r*(ot+2)],[
e.style.width,e.style.height]=[`${e.width/2}px`,`${e.height/2}px`];let i=e.getContext("2d");return i.scale(2,2),s.forEach((o,a)=>{let l=o/Math.max(1,t-1);i.fillStyle=l===0?u.dark?"#3a3e4b":"#e1e2e6":u.
dark?`rgba(143,176,255,${.45+.55*l})`:`rgba(47,91,208,${.4+.6*l})`,i.fillRect(a%n*(ot+1),Math.floor(a/n)*(ot+2),ot,ot+1)}),e.setAttribute("aria-hidden","true"),e}function hr(s,t,e){let n=v("ul",void 0,
"facets"),r=s.facets(t);for(let i of r.slice(0,ce)){let o=v("li"),a=i.neurons.map(l=>{let c=l.bend?`, breakpoint ${l.bend}`:"";return`${Ut(s.about,l.layer)}, neuron ${l.index}${c}`});if(o.append(v("sp\
an",a.join(" and ")||"edge of the domain or the frame")),i.behind>=0){let l=v("button",`→ ${i.behind}`);l.type="button",l.setAttribute("aria-label",`go to neighbour ${i.behind}`),l.addEventListener(
"click",()=>e(i.behind)),o.append(l)}n.append(o)}return r.length>ce&&n.append(v("li",`… and ${r.length-ce} more`)),n}function tn(s,t){let e=s.toLowerCase().replace(/[^0-9a-z]/g,"");return e.length===
t?Uint8Array.from(e,n=>parseInt(n,36)):null}function en(s,t){let e=s.replace(/−/g,"-").trim().replace(/^[([]|[)\]]$/g,"").trim().split(/[\s,;]+/),n=e.map(Number);return n.length===t&&e.every(r=>r!==
"")&&n.every(Number.isFinite)?n:null}var mr={top:.82,middle:.35,bottom:-.2},dr={center:"middle",right:"end",end:"end"},nn=s=>s.replace(/[&<>"]/g,t=>`&#${t.charCodeAt(0)};`),It=s=>typeof s=="string"?s:"none",I=s=>String(Number(s.toFixed(2))),
K=class{parts=[];font="11px sans-serif";textAlign="left";textBaseline="alphabetic";lineWidth=1;lineJoin="miter";lineCap="butt";strokeStyle="#000";fillStyle="#000";measure=document.createElement("canva\
s").getContext("2d");path="";beginPath(){this.path=""}moveTo(t,e){this.path+=`M${I(t)} ${I(e)}`}lineTo(t,e){this.path+=`${this.path&&!this.path.endsWith("Z")?"L":"M"}${I(t)} ${I(e)}`}closePath(){this.
path&&(this.path+="Z")}arc(t,e,n){let[r,i]=[I(n),I(2*n)];this.path+=`M${I(t-n)} ${I(e)}a${r} ${r} 0 1 0 ${i} 0a${r} ${r} 0 1 0 -${i} 0Z`}stroked(){return`stroke="${It(this.strokeStyle)}" stroke-width=\
"${I(this.lineWidth)}" stroke-linejoin="${this.lineJoin}" stroke-linecap="${this.lineCap}"`}stroke(){this.path&&this.parts.push(`<path d="${this.path}" fill="none" ${this.stroked()}/>`)}fill(){this.path&&
this.parts.push(`<path d="${this.path}" fill="${It(this.fillStyle)}"/>`)}fillRect(t,e,n,r){let[i,o,a,l]=[t,e,n,r].map(I);this.parts.push(`<rect x="${i}" y="${o}" width="${a}" height="${l}" fill="${It(
this.fillStyle)}"/>`)}measureText(t){return this.measure.font=this.font,this.measure.measureText(t)}fillText(t,e,n){this.text(t,e,n,`fill="${It(this.fillStyle)}"`)}strokeText(t,e,n){this.text(t,e,n,`f\
ill="none" ${this.stroked()}`)}text(t,e,n,r){let[,i="400",o,a]=/^(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font),l=n+(mr[this.textBaseline]??0)*Number(o);this.parts.push(`<text x="${I(e)}" y="${I(l)}" fo\
nt-family="${nn(a)}" font-size="${o}" font-weight="${i}" text-anchor="${dr[this.textAlign]??"start"}" ${r}>${nn(t)}</text>`)}};var rn=5e4,sn=6,Ot=12,fr="13px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";function on(s,t){let e=document.createElement("a");e.href=URL.createObjectURL(s),e.download=t,e.click(),setTimeout(
()=>URL.revokeObjectURL(e.href),1e3)}var _t=class{constructor(t,e,n){this.parts=e;let[r]=t;[this.left,this.below]=M()?[0,0]:[r.axisY.clientWidth,r.axisX.clientHeight],this.top=t.length>1?24:6,this.pane=
[r.canvas.clientWidth,r.canvas.clientHeight],this.width=t.length*(this.left+this.pane[0]+Ot),this.keyTop=this.top+this.pane[1]+this.below+8,this.height=Math.ceil(this.keyTop+le(n,e,0,0,this.room(),!1))}parts;left;top;below;pane;width;keyTop;height;room(){
return this.width-this.left-Ot}x(t){return t*(this.left+this.pane[0]+Ot)+this.left}paintWords(t,e){t.font=fr,t.textAlign="left",t.textBaseline="middle",t.fillStyle=u.dark?"#e8e8ee":"#1d1e26",e.length>
1&&e.forEach((n,r)=>t.fillText(n.caption.textContent??"",this.x(r),12)),le(t,this.parts,this.left+(M()?Ot:0),this.keyTop,this.room())}};function an(s,t){let e=document.createElement("canvas"),n=e.getContext(
"2d"),r=new _t(s,t,n),i=$();[e.width,e.height]=[Math.round(r.width*i),Math.round(r.height*i)],n.fillStyle=getComputedStyle(document.body).backgroundColor,n.fillRect(0,0,e.width,e.height),s.forEach((o,a)=>{
let[l,c]=[r.x(a)*i,r.top*i];o.paintSheet();for(let h of o.layers())n.drawImage(h,l,c);M()||(n.drawImage(o.axisY,l-r.left*i,c),n.drawImage(o.axisX,l,c+r.pane[1]*i))}),n.setTransform(i,0,0,i,0,0),r.paintWords(
n,s),e.toBlob(o=>{o&&on(o,"regions.png")})}function ln(s,t){let e=new K,n=new _t(s,t,e),{width:r,height:i,top:o}=n,a=[],l=[],c=0;if(s.forEach((p,b)=>{let y=br(p,b,l);c+=y.length,a.push(`<g transform="\
translate(${n.x(b)} ${o})">`,...pr(p,y,n),"</g>")}),c>rn){x("answer").textContent=`${c.toLocaleString("en")} regions are in view: zoom in, SVG takes up to ${rn.toLocaleString("en")}.`;return}n.paintWords(
e,s);let[h,m]=n.pane,d=[`<svg xmlns="http://www.w3.org/2000/svg" width="${r}" height="${i}" viewBox="0 0 ${r} ${i}">`,`<defs><clipPath id="pane"><rect width="${h}" height="${m}"/></clipPath>`,...l,"</\
defs>",`<rect width="${r}" height="${i}" fill="${getComputedStyle(document.body).backgroundColor}"/>`,...a,...e.parts,"</svg>"];on(new Blob([d.join(`
`)],{type:"image/svg+xml"}),"regions.svg")}function pr(s,t,e){let[n,r]=e.pane,i=new K;for(let c of[Nt,$t,Rt,Ct])c(i,s);Lt(i,n,r);let[o,a]=[new K,new K];Pt(o,n,e.below),Tt(a,e.left,r);let l=u.dark?"#34\
3743":"#dcdcd6";return['<g clip-path="url(#pane)">','<g class="regions" shape-rendering="crispEdges">',...t,"</g>",...gr(s),...i.parts,"</g>",`<rect width="${n}" height="${r}" fill="none" stroke="${l}\
"/>`,`<g class="axis-x" transform="translate(0 ${r})">`,...o.parts,"</g>",`<g class="axis-y" transform="translate(${-e.left} 0)">`,...a.parts,"</g>"]}function br(s,t,e){let[n,r]=[s.canvas.clientWidth,
s.canvas.clientHeight],i=s.picture,o=yr(s,`g${t}-`,e),a=[];for(let l=0;l<i.count;l++){let c=i.polygon(l).map(p=>s.toScreen(p)),h=c.map(p=>p[0]),m=c.map(p=>p[1]);if(Math.max(...h)<0||Math.min(...h)>n||
Math.max(...m)<0||Math.min(...m)>r)continue;let d=c.map(p=>`${p[0].toFixed(2)},${p[1].toFixed(2)}`).join("L");a.push(`<path d="M${d}Z" fill="${o(l)}"/>`)}return a}function gr(s){if(u.edges==="none")return[];
let t=s.picture,{pairs:e,ends:n}=t.edges(),r=Math.min(u.layer,t.depth),i=u.edges==="layers",o=u.dark?"#000":s.shades.values?"#fff":"#28283c",a=[];for(let l=i?0:r;l<=r;l++){let c=[];for(let d=i&&l>0?n[l-
1]:0;d<n[l];d++){let[p,b]=[e[2*d],e[2*d+1]].map(y=>s.toScreen(t.corner(y)));c.push(`M${p.map(y=>y.toFixed(2)).join(" ")}L${b.map(y=>y.toFixed(2)).join(" ")}`)}let h=i?_(W(l,t.depth,u.dark)):o,m=i?.9:.6;
c.length&&a.push(`<path class="edges" data-layer="${l}" d="${c.join("")}" fill="none" stroke="${h}" stroke-width="0.75" stroke-opacity="${m}" stroke-linecap="round"/>`)}return a}function yr(s,t,e){let n=s.
picture,{starts:r}=n,{colours:i,values:o=new Float32Array,low:a,high:l}=s.shades;if(i){let m=new Uint8Array(i.buffer);return d=>`rgb(${m.slice(4*r[d],4*r[d]+3).join()})`}let c=j(),h=m=>{let d=(m-a)/(l-
a||1),p=4*Math.round(255*Math.min(1,Math.max(0,d)));return`rgb(${c.slice(p,p+3).join()})`};return m=>{let d=[...o.subarray(r[m],r[m+1])],[p,b]=[Math.min(...d),Math.max(...d)];if(h(p)===h(b))return h(p);
let y=n.map(m).subarray(3*u.output),w=s.toScreen(n.corner(r[m]+d.indexOf(p))),P=(b-p)/(y[0]**2+y[1]**2)*(s.toScreen([1,0])[0]-s.toScreen([0,0])[0]),[F,C]=[w[0]+y[0]*P,w[1]-y[1]*P],D=Array.from({length:sn},
(N,U)=>{let Q=U/(sn-1);return`<stop offset="${Q}" stop-color="${h(p+Q*(b-p))}"/>`}),T=[w[0],w[1],F,C].map(N=>N.toFixed(2));return e.push(`<linearGradient id="${t}${m}" gradientUnits="userSpaceOnUse" x\
1="${T[0]}" y1="${T[1]}" x2="${T[2]}" y2="${T[3]}">${D.join("")}</linearGradient>`),`url(#${t}${m})`}}var he=[],A=f.panes.map((s,t)=>new Ft(t)),[S]=A,me=Math.max(...f.panes.map(s=>s.length)),Wt,Dt=!1,J=!0,mn=null,cn=0,dn=0,de=0;function V(){return Math.max(1,...A.map(s=>s.cells?.depth??1))}function ye(){
for(let s of A)s.paint()}function R(){Dt||(Dt=!0,requestAnimationFrame(()=>{Dt=!1,ye(),clearTimeout(cn),cn=window.setTimeout(vr,250)}))}function vr(){let s=Qt(V());if(!(s===mn&&!location.hash))try{history.
replaceState(null,"",`#${s}`)}catch{}}function q(){let s=A.filter(i=>i.cells).map(i=>i.shade()),t=Math.min(...s.map(i=>i.low)),e=Math.max(...s.map(i=>i.high)),n=u.surface?A.map(i=>i.space.range()).filter(
i=>i!==null):[],r=n.length?{low:Math.min(...n.map(i=>i.low)),high:Math.max(...n.map(i=>i.high))}:null;for(let i of A)i.colour(t,e,r);zt(),R()}function fe(){let s=S.cells?S.shades:{low:0,high:1};return Xe(
S.cells,s,A.some(t=>t.pinned>=0))}function zt(){Ke(fe())}function ve(s,t){return Math.min(S.canvas.clientWidth/(t[0]-s[0]),S.canvas.clientHeight/(t[1]-s[1]))}function fn(){let s=ve(f.low,f.high);return{
least:s/4,most:s*5e4}}function pe(){J=!0,E.home();let[s,t]=f.first;[g.x,g.y]=[(s[0]+t[0])/2,(s[1]+t[1])/2],g.zoom=.97*ve(s,t),R()}function be(s,t,e,n){if(M()){E.approach(n),R();return}let[r,i]=s.toPlane(
t,e),{least:o,most:a}=fn();g.zoom=Math.min(a,Math.max(o,g.zoom*n));let[l,c]=s.toPlane(t,e);pn(r-l,i-c)}function pn(s,t){J=!1,g.x=Math.min(f.high[0],Math.max(f.low[0],g.x+s)),g.y=Math.min(f.high[1],Math.
max(f.low[1],g.y+t)),R()}function wr(s,t){E.turn(s,t),R()}function un(){for(let s of A)s.resize();if(J&&f.inputs===2){let[s,t]=f.first;g.zoom=.97*ve(s,t)}ye()}function bn(s,t,e){R();let{picture:n}=s;if(!n||
M())return;let r=n.polygon(t),i=Math.max(...[0,1].map(m=>{let d=r.map(p=>p[m]);return Math.max(...d)-Math.min(...d)})),[o,a]=[s.canvas.clientWidth,s.canvas.clientHeight],l=Math.min(o,a);i*g.zoom<40&&(g.
zoom=Math.min(fn().most,.2*l/Math.max(i,1e-12)),J=!1);let[c,h]=s.toScreen(e);c>40&&h>40&&c<o-40&&h<a-40||([g.x,g.y]=e,J=!1)}function Z(){A.forEach((s,t)=>{let{cells:e}=s;if(!e)return;let n=s.pinned>=0?
s.pinned:s.hovered;Ze(x("panel").children[t],e,n,{pinned:s.pinned>=0,name:A.length>1?f.names[t]:"",choose:r=>{let i=e.middle(r);dt(i),bn(s,r,i)}}),Wt.show(t,e,n<0?null:e.pattern(n))}),gn(),zt(),R()}function gn(){
if(!f.image||!S.cells)return;let s=A.find(e=>e.over)?.over??u.place??[g.x,g.y],t=Oe(x("image"),S.cells.network,s);x("image-control").hidden=!t}function xr(s,t,e,n){let{region:r,point:i}=s.at(t,e),o=A.
map(l=>l.hovered).join();for(let l of A)l.over=i,l.hovered=l===s?r:i&&l.cells?l.cells.locate(i):-1,n&&(l===s||!M())&&l.tell(t,e);let a=M()?f.scale/200:1/g.zoom;x("where").textContent=i?i.map(l=>at(l,a)).
join(", "):"",o!==A.map(l=>l.hovered).join()?Z():gn()}function yn(){for(let s of A)s.hovered=-1,s.over=null,s.quiet();x("where").textContent="",Z()}function dt(s){u.place=s,u.marked=null;for(let t of A)
t.pinned=s&&t.cells?t.cells.locate(s):-1;Z()}function vn(s){let t=S.cells,e=en(s,f.inputs),n=e?null:tn(s,t.network.neurons),r=e?t.locate(e):n?t.table.find(n):-1;if(!n&&!e){let i=f.inputs===3?"three":"\
two";x("answer").textContent=`Type ${i} numbers, or ${t.network.neurons} digits: the piece of every neuron.`}else if(r<0)x("answer").textContent=e?"This point is in no region of the list.":"No region \
has this pattern.";else{x("answer").textContent=`Region ${r}`;let i=e??t.middle(r);dt(i),u.marked=e&&f.inputs===2?e:null,bn(S,r,i)}return r}async function Ar(s){let t=f.pictures[s];if(!he[s]){let e=await Vt(
`picture-${s}`,t.arrays);he[s]=t.inputs===3?new G(f,t,e):new z(f,t,e)}return he[s]}async function Gt(s){let t=++dn,e=await Promise.all(f.panes.map(async r=>{let i=r.at(Math.min(s,r.length-1));return i===
void 0?null:Ar(i)}));if(t<de)return;de=t;let n=!S.cells||u.layer===V();u.index=s,A.forEach((r,i)=>r.show(e[i])),u.layer=n?V():Math.min(u.layer,V()),S.cells&&(u.output=Math.min(u.output,S.cells.about.outputs-
1)),we(),Ht(),q(),Z()}function Sr({depth:s,about:t}){return u.layer>=s?t.regions:t.after[u.layer-1]}function we(){let s=A.map(i=>i.cells).filter(i=>i!==null);if(x("time").setAttribute("aria-valuetext",
s[0]?.about.label??""),L("time").value=String(u.index),!s.length){x("title").textContent=f.title;return}let t=s.map(i=>Sr(i).toLocaleString("en")),e=u.layer<V()?` after layer ${u.layer}`:"",n=t.join()===
"1"?"linear region":"linear regions";x("title").textContent=`${t.join(" and ")} ${n}${e}`;let r=s.map(({about:i})=>`${i.network} on ${i.domain}${i.complete?"":", not complete"}`);x("subtitle").textContent=
r.join(" · "),x("time-label").textContent=s[0].about.label,A.forEach((i,o)=>{i.caption.hidden=A.length<2,i.caption.replaceChildren(v("b",f.names[o]),` ${t[o]} regions`)})}function Ht(){let{cells:s}=S,
t=(i,o)=>{x(i).hidden=!o};if(t("find",s!==null),t("controls",s!==null),t("mesh-control",f.meshes.length>0&&s!==null),t("cut-control",f.inputs===3),t("apart-control",f.inputs===3&&s!==null),t("surface-\
control",f.inputs===2),t("svg",!M()),B("cut").value=String(u.cutAxis),L("cut-at").value=String(u.cutAt),L("apart").value=String(u.apart),xn(),!s)return;let e=Math.max(...A.map(i=>i.cells?.about.outputs??
1)),n=V();L("layer").max=String(n),L("layer").value=String(u.layer),t("layer-control",n>1),wn();let r=u.colour==="value"||u.colour==="gradient"||u.surface;if(t("output-control",e>1&&r),B("output").length!==
e){let i=o=>new Option(`y${o+1}`,String(o));B("output").replaceChildren(...Array.from({length:e},(o,a)=>i(a)))}B("output").value=String(u.output),hn("colour","bends",n>1),hn("edges","layers",n>1),B("c\
olour").value=u.colour,B("edges").value=u.edges,t("decision-control",!M()&&Er()),t("points-control",f.points.length>0&&!u.surface),L("decision").checked=u.decision,L("points").checked=u.points,L("mesh").
checked=u.mesh}function hn(s,t,e){let n=[...B(s).options].find(r=>r.value===t);n.hidden=n.disabled=!e}function Er(){return A.some(({picture:s})=>s?s.network.outputs>2||s.count>1e5||s.decisionBoundary.
length>0:!1)}function wn(){if(x("layer-label").textContent=`${u.layer} of ${V()}`,!S.cells?.depth)return;let s=Math.min(u.layer,S.cells.depth);x("layer").setAttribute("aria-valuetext",`up to ${Ut(S.cells.
about,s)}`)}function xn(){x("cut-at").hidden=x("cut-label").hidden=u.cutAxis<0,!(f.inputs!==3||u.cutAxis<0)&&(x("cut-label").textContent=at(S.space.planeAt(),f.scale/100))}function kr(){u.playing?(clearInterval(
u.playing),u.playing=null):u.playing=window.setInterval(()=>{Gt((u.index+1)%me)},700),x("play").textContent=u.playing?"❚❚":"▶",x("play").setAttribute("aria-label",u.playing?"pause":"play")}function An(s){
u.dark=s,document.documentElement.classList.toggle("dark",s),x("theme").textContent=s?"Light":"Dark",!(!S.cells&&!f.meshes.length)&&(S.cells&&q(),Wt.refresh(),Z())}function ge(s){u.surface=s,x("plane-\
view").setAttribute("aria-pressed",String(!s)),x("surface-view").setAttribute("aria-pressed",String(s)),yn(),Ht(),q()}function Sn(s){u.panel=s,document.documentElement.classList.toggle("no-panel",!s),
x("panel-toggle").setAttribute("aria-pressed",String(s)),R()}function Mr(){let s=()=>[S.canvas.clientWidth/2,S.canvas.clientHeight/2],t=(r,i,o)=>{x(r).addEventListener(i,o)},e=()=>{Ht(),q()},n=()=>{for(let r of A)
r.space.showCut();xn(),R()};t("colour","change",()=>{u.colour=B("colour").value,e()}),t("output","change",()=>{u.output=Number(B("output").value),e()}),t("edges","change",()=>{u.edges=B("edges").value,
e()}),t("layer","input",()=>{u.layer=Math.min(Number(L("layer").value),V()),wn(),we(),q(),Z()}),t("decision","change",()=>{u.decision=L("decision").checked,zt(),R()}),t("points","change",()=>{u.points=
L("points").checked,zt(),R()}),t("mesh","change",()=>{u.mesh=L("mesh").checked,kn()}),t("cut","change",()=>{u.cutAxis=Number(B("cut").value),n()}),t("cut-at","input",()=>{u.cutAt=Number(L("cut-at").value),
n()}),t("apart","input",()=>{u.apart=Number(L("apart").value),q()}),t("find","submit",r=>{r.preventDefault(),vn(L("query").value)}),t("zoom-in","click",()=>be(S,...s(),1.5)),t("zoom-out","click",()=>be(
S,...s(),1/1.5)),t("home","click",pe),t("plane-view","click",()=>ge(!1)),t("surface-view","click",()=>ge(!0)),t("panel-toggle","click",()=>Sn(!u.panel)),t("time","input",()=>{Gt(Number(L("time").value))}),
t("play","click",kr),t("theme","click",()=>An(!u.dark)),t("png","click",()=>an(A,fe())),t("svg","click",()=>ln(A,fe())),window.addEventListener("hashchange",({newURL:r})=>{En(new URL(r).hash.slice(1))}),
document.addEventListener("keydown",r=>{r.key==="Escape"&&dt(null)})}async function En(s){let t=Fe(),e=Et(s)??t;Sn(u.panel),await Gt(u.index),u.layer=Math.min(e??1/0,V()),te(s)&&(J=!1),f.inputs===2&&ge(
u.surface),we(),Ht(),S.cells&&q(),Z()}async function kn(){for(let[s,t]of f.meshes.entries()){let e=u.mesh?await Vt(`mesh-${s}`,t.arrays):null;u.mesh&&e?S.space.addMesh(`mesh-${s}`,e):S.space.removeMesh(
`mesh-${s}`)}R()}async function Pr(){x("panes").append(...A.map(n=>n.figure)),x("panel").replaceChildren(...A.map(()=>v("section"))),Wt=new Mt(x("diagrams"),A.length,R),Wt.show(0,null,null),x("film").
hidden=me<2,L("time").max=String(me-1),B("cut").append(...f.axes.slice(0,f.inputs).map((n,r)=>new Option(`across ${n}`,String(r)))),L("query").placeholder=`${f.inputs===3?"point 1, 0.5, −2":"point 1\
.5, −2"} or pattern 0110…`;for(let n of A)n.resize();pe(),An(matchMedia("(prefers-color-scheme: dark)").matches);let s=new URLSearchParams(f.settings).toString();Re(s),te(s)&&(J=!1),await En(location.
hash.slice(1)),await kn();let t={home:pe,hover:xr,leave:yn,move:pn,turn:wr,pin:dt,redraw:R,zoomAt:be};for(let n of A)Ge(n,t),He(n,t);Mr();let e=new ResizeObserver(un);for(let n of A)e.observe(n.canvas);
un(),mn??=Qt(V()),document.documentElement.dataset.ready="yes",Object.assign(window,{tropicell:{page:f,state:u,view:g,panes:A,camera:E,find:vn,show:Gt,pin:dt,paint:ye,drawn:S.drawn,toScreen:n=>S.toScreen(
n),toPlane:(n,r)=>S.toPlane(n,r),get picture(){return S.cells},get busy(){return Dt||dn>de||A.some(n=>n.drawn.timer!==0)}}})}Pr().catch(s=>{throw x("title").textContent="The page could not be shown",x(
"subtitle").textContent=s.message,s});
